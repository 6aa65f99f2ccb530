// Command judge decides worlds with the scheduler of openMCP's operator, for the differential tests: see package frame. The
// scheduler is internal to the operator; the path of this module lies below the operator's, which lets it be imported. It
// reconciles over a fake client. Its filters are no functions of their own: whether a cluster can be taken is asked with a
// world in which it is the only one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/openmcp-project/controller-utils/pkg/clusters"
	"github.com/openmcp-project/controller-utils/pkg/logging"
	clustersv1alpha1 "github.com/openmcp-project/openmcp-operator/api/clusters/v1alpha1"
	"github.com/openmcp-project/openmcp-operator/internal/config"
	"github.com/openmcp-project/openmcp-operator/internal/controllers/scheduler"

	"berth.dev/tests/peers/frame"
)

var scheme = runtime.NewScheme()

func main() {
	if err := clustersv1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	frame.Judge(judge)
}

func judge(world *frame.World) (frame.Verdicts, error) {
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var objects []client.Object
	for _, text := range world.Objects {
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object.(client.Object))
	}
	verdicts := frame.Verdicts{}
	for _, object := range objects {
		if request, ok := object.(*clustersv1alpha1.ClusterRequest); ok {
			verdict, err := decide(world.Configuration, objects, request)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", request.Name, err)
			}
			verdicts[request.Namespace+"/"+request.Name] = verdict
		}
	}
	return verdicts, nil
}

// settings reads the scheduler's configuration afresh, as the scheduler shares its templates' maps with what it makes.
func settings(text json.RawMessage) (*config.SchedulerConfig, error) {
	var file struct {
		Scheduler *config.SchedulerConfig `json:"scheduler"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	path := field.NewPath("scheduler")
	for _, step := range []func(*field.Path) error{file.Scheduler.Default, file.Scheduler.Validate, file.Scheduler.Complete} {
		if err := step(path); err != nil {
			return nil, err
		}
	}
	return file.Scheduler, nil
}

// reconcileOver lets the scheduler look at the request in a world of these objects, and gives what is there then.
func reconcileOver(configuration json.RawMessage, objects []client.Object, request *clustersv1alpha1.ClusterRequest) (
	client.Client, error) {
	copies := make([]client.Object, len(objects))
	for index, object := range objects {
		copies[index] = object.DeepCopyObject().(client.Object)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(copies...).
		WithStatusSubresource(&clustersv1alpha1.ClusterRequest{}, &clustersv1alpha1.Cluster{}).Build()
	ctx := logging.NewContext(context.Background(), logging.Discard())
	read := func(context.Context) (*config.SchedulerConfig, error) { return settings(configuration) }
	if _, err := read(ctx); err != nil {
		return nil, err
	}
	original, err := scheduler.NewClusterScheduler(ctx, nil, clusters.NewTestClusterFromClient("platform", hub), read, "")
	if err != nil {
		return nil, err
	}
	// An error is a decision too: the request stays pending.
	_, _ = original.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(request)})
	return hub, nil
}

func decide(configuration json.RawMessage, objects []client.Object, request *clustersv1alpha1.ClusterRequest) (*frame.Verdict, error) {
	hub, err := reconcileOver(configuration, objects, request)
	if err != nil {
		return nil, err
	}
	verdict := frame.NewVerdict()
	verdict.Written, verdict.Picked, err = tell(hub, request)
	if err != nil || request.Status.Cluster != nil || request.DeletionTimestamp != nil {
		return verdict, err
	}
	for _, object := range objects {
		cluster, ok := object.(*clustersv1alpha1.Cluster)
		if !ok {
			continue
		}
		hub, err := reconcileOver(configuration, []client.Object{request, cluster}, request)
		if err != nil {
			return nil, err
		}
		_, picked, err := tell(hub, request)
		if err != nil {
			return nil, err
		}
		name := cluster.Namespace + "/" + cluster.Name
		if len(picked) != 1 || picked[0] != name {
			verdict.Refuse(name, "Refused")
		}
	}
	return verdict, nil
}

// tell says what there is, and where the request is.
func tell(hub client.Client, request *clustersv1alpha1.ClusterRequest) (any, []string, error) {
	ctx := context.Background()
	list := &clustersv1alpha1.ClusterList{}
	if err := hub.List(ctx, list); err != nil {
		return nil, nil, err
	}
	all := map[string]any{}
	for _, cluster := range list.Items {
		finalizers := append([]string{}, cluster.Finalizers...)
		sort.Strings(finalizers)
		all[cluster.Namespace+"/"+cluster.Name] = map[string]any{
			"labels": cluster.Labels, "annotations": cluster.Annotations, "finalizers": finalizers,
			"purposes": cluster.Spec.Purposes, "tenancy": cluster.Spec.Tenancy, "profile": cluster.Spec.Profile,
			"deleting": !cluster.DeletionTimestamp.IsZero(),
		}
	}
	stored := &clustersv1alpha1.ClusterRequest{}
	picked := []string{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(request), stored); client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	if stored.Status.Cluster != nil {
		picked = append(picked, stored.Status.Cluster.Namespace+"/"+stored.Status.Cluster.Name)
	}
	told := map[string]any{"finalizers": append([]string{}, stored.Finalizers...), "phase": stored.Status.Phase}
	return map[string]any{"clusters": all, "request": told}, picked, nil
}
