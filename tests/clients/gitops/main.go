// Command gitops synchronizes an application as Argo CD does, with Argo CD's own engine: what has the application's
// label is its own, and what is its own and not wanted is pruned.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	label       = "app.kubernetes.io/instance"
	application = "shop"
	namespace   = "story-1"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// wanted gives the application's objects: a Placement, and a ConfigMap if that is wanted.
func wanted(withMap bool) ([]*unstructured.Unstructured, error) {
	texts := []string{`{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
		"metadata": {"name": "shop"}, "spec": {"numberOfClusters": 2}}`}
	if withMap {
		texts = append(texts, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"a": "b"}}`)
	}
	var objects []*unstructured.Unstructured
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
			return nil, err
		}
		object.SetNamespace(namespace)
		object.SetLabels(map[string]string{label: application})
		objects = append(objects, object)
	}
	return objects, nil
}

type info struct{ application string }

// application is what is synchronized.
type synchronized struct {
	engine engine.GitOpsEngine
	cache  cache.ClusterCache
}

func (s *synchronized) isOwn(resource *cache.Resource) bool {
	own, ok := resource.Info.(*info)
	return ok && own.application == application
}

// sync brings the application to what is wanted: what became of each object.
func (s *synchronized) sync(ctx context.Context, withMap bool) (map[string]common.ResultCode, error) {
	objects, err := wanted(withMap)
	if err != nil {
		return nil, err
	}
	results, err := s.engine.Sync(ctx, objects, s.isOwn, "revision", namespace, sync.WithPrune(true), sync.WithLogr(logr.Discard()))
	if err != nil {
		return nil, err
	}
	codes := map[string]common.ResultCode{}
	for _, result := range results {
		if result.Status == common.ResultCodeSyncFailed {
			return nil, fmt.Errorf("%s: %s", result.ResourceKey, result.Message)
		}
		codes[result.ResourceKey.Kind+"/"+result.ResourceKey.Name] = result.Status
	}
	return codes, nil
}

// kinds gives what the cache holds of the application's namespace, by kind and name.
func (s *synchronized) kinds() []string {
	found := []string{}
	for key := range s.cache.FindResources(namespace) {
		found = append(found, key.Kind+"/"+key.Name)
	}
	return found
}

func (s *synchronized) awaits(ctx context.Context, what string, there bool) error {
	for slices.Contains(s.kinds(), what) != there {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cache has %v, of which %s there: wanted %v", s.kinds(), what, there)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	clusterCache := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			own := object.GetLabels()[label]
			return &info{application: own}, own != ""
		}))
	shop := &synchronized{engine: engine.NewEngine(config, clusterCache, engine.WithLogr(logr.Discard())), cache: clusterCache}
	stop, err := shop.engine.Run()
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println("every kind is cached")
	made, err := shop.sync(ctx, true)
	both := map[string]common.ResultCode{"Placement/shop": common.ResultCodeSynced, "ConfigMap/shop": common.ResultCodeSynced}
	if err != nil || !maps.Equal(made, both) {
		return fmt.Errorf("synchronized %v: %w", made, err)
	}
	for _, object := range []string{"Decision/shop.ocm", "ConfigMap/shop"} {
		if err := shop.awaits(ctx, object, true); err != nil {
			return err
		}
	}
	fmt.Println("a Placement of an application is synchronized, and decided")
	again, err := shop.sync(ctx, false)
	one := map[string]common.ResultCode{"Placement/shop": common.ResultCodeSynced, "ConfigMap/shop": common.ResultCodePruned}
	if err != nil || !maps.Equal(again, one) {
		return fmt.Errorf("synchronized %v: %w", again, err)
	}
	if err := shop.awaits(ctx, "ConfigMap/shop", false); err != nil {
		return err
	}
	if err := shop.awaits(ctx, "Decision/shop.ocm", true); err != nil {
		return err
	}
	fmt.Println("what is not wanted is pruned, and no Decision")
	return nil
}
