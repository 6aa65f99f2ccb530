package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// asked counts the requests that were answered with success, by resource.
type asked struct {
	next http.RoundTripper
	mu   sync.Mutex
	// Lists, watches that begin with all objects, and other watches.
	lists, streams, watches map[string]int
}

func (a *asked) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists, a.streams, a.watches = map[string]int{}, map[string]int{}, map[string]int{}
}

// counts gives lists, streams and other watches of what is at `path`.
func (a *asked) counts(path string) (int, int, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lists[path], a.streams[path], a.watches[path]
}

func (a *asked) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	query := request.URL.Query()
	of := a.lists
	if watch, _ := strconv.ParseBool(query.Get("watch")); watch {
		of = a.watches
		if initial, _ := strconv.ParseBool(query.Get("sendInitialEvents")); initial {
			of = a.streams
		}
	}
	of[request.URL.Path]++
	return response, nil
}

// kind is a resource that is followed.
type kind struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	mu       sync.Mutex
	deleted  map[string]bool
}

func (k *kind) path() string {
	root := "/apis/" + k.resource.Group + "/"
	if k.resource.Group == "" {
		root = "/api/"
	}
	return root + k.resource.Version + "/" + k.resource.Resource
}

// difference says how what the informer has differs from what the server lists now.
func (k *kind) difference(ctx context.Context, client dynamic.Interface) error {
	list, err := client.Resource(k.resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", k.path(), err)
	}
	there, here := map[string]string{}, map[string]string{}
	for _, object := range list.Items {
		there[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
	}
	for _, object := range k.informer.GetStore().List() {
		object := object.(*unstructured.Unstructured)
		here[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
	}
	if !maps.Equal(there, here) {
		return fmt.Errorf("%s: the server has %v, the informer %v", k.path(), there, here)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.deleted {
		if _, ok := there[key]; ok {
			return fmt.Errorf("%s: %s was told to be deleted, and is there", k.path(), key)
		}
	}
	return nil
}

// watchable gives every resource that can be listed and watched, each in the version that discovery prefers.
func watchable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(verbs, lists))
	if err != nil {
		return nil, err
	}
	all := slices.Collect(maps.Keys(found))
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	})
	return all, nil
}

// follow has an informer of every kind, over a restart of the server, of which standard input tells.
func follow(ctx context.Context, config *rest.Config) error {
	count := &asked{}
	count.forget()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		count.next = next
		return count
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resources, err := watchable(config)
	if err != nil {
		return err
	}
	if len(resources) < 45 {
		return fmt.Errorf("only %d kinds can be watched: %v", len(resources), resources)
	}
	kinds, err := started(ctx, client, resources)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if lists, streams, _ := count.counts(kind.path()); lists != 0 || streams == 0 {
			return fmt.Errorf("%s: synced with %d lists and %d streams", kind.path(), lists, streams)
		}
	}
	did("an informer of every kind is synced by a streaming list, and by nothing else")
	for _, kind := range kinds {
		if err := until(ctx, "before the restart", func() error { return kind.difference(ctx, client) }); err != nil {
			return err
		}
	}
	did("each has what a list has")
	return restarted(ctx, client, kinds, count)
}

// started gives an informer of each resource, synced.
func started(ctx context.Context, client dynamic.Interface, resources []schema.GroupVersionResource) ([]*kind, error) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	var kinds []*kind
	for _, resource := range resources {
		kind := &kind{resource: resource, informer: factory.ForResource(resource).Informer(), deleted: map[string]bool{}}
		_, err := kind.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
			key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
			if !strings.Contains(key, "/") {
				key = "/" + key
			}
			kind.mu.Lock()
			defer kind.mu.Unlock()
			kind.deleted[key] = true
		}})
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	factory.Start(ctx.Done())
	for _, kind := range kinds {
		if !cache.WaitForCacheSync(ctx.Done(), kind.informer.HasSynced) {
			return nil, fmt.Errorf("%s is not synced", kind.path())
		}
	}
	return kinds, nil
}

var roles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}

// written makes a ClusterRole, which no controller writes: its resourceVersion, as text and as a number.
func written(ctx context.Context, client dynamic.Interface, name string) (string, uint64, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name}}}
	made, err := client.Resource(roles).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(made.GetResourceVersion(), 10, 64)
	return made.GetResourceVersion(), number, err
}

// restarted waits for the restart, and for every informer to be there again.
func restarted(ctx context.Context, client dynamic.Interface, kinds []*kind, count *asked) error {
	text, before, err := written(ctx, client, "before")
	if err != nil {
		return err
	}
	// Watches last until then.
	count.forget()
	did("ready for a restart")
	lines := bufio.NewScanner(os.Stdin)
	if !lines.Scan() {
		return errors.New("nobody says that the server was restarted")
	}
	_, after, err := written(ctx, client, "after")
	if err != nil {
		return err
	}
	if after <= before {
		return fmt.Errorf("what is written after the restart has resourceVersion %d, %d before", after, before)
	}
	for _, kind := range kinds {
		err := until(ctx, "after the restart", func() error {
			if _, streams, watches := count.counts(kind.path()); streams+watches == 0 {
				return fmt.Errorf("%s is not watched again", kind.path())
			}
			return kind.difference(ctx, client)
		})
		if err != nil {
			return err
		}
	}
	did("each watches again after a restart, has what a list has, and missed nothing")
	for _, kind := range kinds {
		if kind.resource != roles {
			continue
		}
		object, ok, err := kind.informer.GetStore().GetByKey("before")
		if err != nil || !ok {
			return fmt.Errorf("the ClusterRole is there: %t, %w", ok, err)
		}
		if now := object.(*unstructured.Unstructured).GetResourceVersion(); now != text {
			return fmt.Errorf("an object that nobody wrote has resourceVersion %s, %s before the restart", now, text)
		}
	}
	did("resourceVersions go on where they were")
	// Of what came after that nobody remembers all.
	return expired(ctx, client, strconv.FormatUint(before-1, 10))
}

// expired watches from a resourceVersion that is no more.
func expired(ctx context.Context, client dynamic.Interface, from string) error {
	watched, err := client.Resource(roles).Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err == nil {
		defer watched.Stop()
		event := <-watched.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		return fmt.Errorf("a watch from %s is answered with %w", from, err)
	}
	did("a watch from before the restart is expired")
	return nil
}
