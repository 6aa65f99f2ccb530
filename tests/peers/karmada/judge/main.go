// Command judge decides worlds with the algorithm of Karmada's scheduler, for the differential tests: see frame.Judge. Objects are
// Clusters and ResourceBindings. Groups of clusters are gone through as the scheduler does, from the observed one on; a decision is
// made whether the scheduler would look or not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlister "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	schedulercache "github.com/karmada-io/karmada/pkg/scheduler/cache"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"

	"berth.dev/tests/peers/frame"
)

func main() {
	// Every step of a decision is logged: it is no part of it.
	klog.InitFlags(nil)
	if err := flag.Set("logtostderr", "false"); err == nil {
		klog.SetOutput(io.Discard)
	}
	frame.Judge(decide)
}

// fleet is one world.
type fleet struct {
	clusters  []*clusterv1alpha1.Cluster
	bindings  []*workv1alpha2.ResourceBinding
	algorithm core.ScheduleAlgorithm
	filters   []framework.FilterPlugin
}

func decide(world *frame.World) (frame.Verdicts, error) {
	all, err := read(world)
	if err != nil {
		return nil, err
	}
	verdicts := frame.Verdicts{}
	for _, binding := range all.bindings {
		verdicts[binding.Namespace+"/"+binding.Name] = all.judge(binding)
	}
	return verdicts, nil
}

func read(world *frame.World) (*fleet, error) {
	all := &fleet{}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, raw := range world.Objects {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, err
		}
		switch meta.Kind {
		case "Cluster":
			cluster := &clusterv1alpha1.Cluster{}
			if err := json.Unmarshal(raw, cluster); err != nil {
				return nil, err
			}
			if err := indexer.Add(cluster); err != nil {
				return nil, err
			}
			all.clusters = append(all.clusters, cluster)
		case "ResourceBinding":
			binding := &workv1alpha2.ResourceBinding{}
			if err := json.Unmarshal(raw, binding); err != nil {
				return nil, err
			}
			all.bindings = append(all.bindings, binding)
		default:
			return nil, fmt.Errorf("no %s is expected", meta.Kind)
		}
	}
	registry := plugins.NewInTreeRegistry()
	bindings := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	known := schedulercache.NewCache(clusterlister.NewClusterLister(indexer), bindings, 0)
	algorithm, err := core.NewGenericScheduler(known, registry)
	if err != nil {
		return nil, err
	}
	all.algorithm = algorithm
	for _, build := range registry {
		plugin, err := build()
		if err != nil {
			return nil, err
		}
		if filter, ok := plugin.(framework.FilterPlugin); ok {
			all.filters = append(all.filters, filter)
		}
	}
	sort.Slice(all.filters, func(one, other int) bool { return all.filters[one].Name() < all.filters[other].Name() })
	return all, nil
}

// judge decides one binding on the world as it is.
func (f *fleet) judge(binding *workv1alpha2.ResourceBinding) *frame.Verdict {
	verdict := frame.NewVerdict()
	group, status, result, err := f.schedule(binding)
	if err != nil {
		verdict.Problem = reason(err)
	} else {
		verdict.Written = map[string]string{"group": group}
	}
	for _, target := range result {
		verdict.Picked = append(verdict.Picked, fmt.Sprintf("%s:%d", target.Name, target.Replicas))
	}
	sort.Strings(verdict.Picked)
	for _, cluster := range f.clusters {
		if !cluster.DeletionTimestamp.IsZero() {
			verdict.Refuse(cluster.Name, "ClusterDeletion")
		}
		for _, filter := range f.filters {
			if !filter.Filter(context.Background(), binding.Spec.DeepCopy(), status, cluster).IsSuccess() {
				verdict.Refuse(cluster.Name, filter.Name())
			}
		}
		sort.Strings(verdict.Refused[cluster.Name])
	}
	return verdict
}

// schedule tries group after group from the observed one on. It returns the group that took all or the first that was tried, with the
// status that it was tried with.
func (f *fleet) schedule(binding *workv1alpha2.ResourceBinding) (
	string, *workv1alpha2.ResourceBindingStatus, []workv1alpha2.TargetCluster, error,
) {
	once := func(status *workv1alpha2.ResourceBindingStatus) ([]workv1alpha2.TargetCluster, error) {
		// The algorithm fills in the placement it is given.
		spec := binding.Spec.DeepCopy()
		result, err := f.algorithm.Schedule(context.Background(), spec, status, &core.ScheduleAlgorithmOption{})
		return result.SuggestedClusters, err
	}
	groups := binding.Spec.Placement.ClusterAffinities
	if groups == nil {
		status := binding.Status.DeepCopy()
		result, err := once(status)
		return "", status, result, err
	}
	start := 0
	for index, group := range groups {
		if group.AffinityName == binding.Status.SchedulerObservedAffinityName {
			start = index
			break
		}
	}
	var first *workv1alpha2.ResourceBindingStatus
	var firstErr error
	for _, group := range groups[start:] {
		status := binding.Status.DeepCopy()
		status.SchedulerObservedAffinityName = group.AffinityName
		result, err := once(status)
		if err == nil {
			return group.AffinityName, status, result, nil
		}
		if first == nil {
			first, firstErr = status, err
		}
	}
	return first.SchedulerObservedAffinityName, first, nil, firstErr
}

// reason is the reason of the condition that the scheduler writes.
func reason(err error) string {
	var fit *framework.FitError
	var unschedulable *framework.UnschedulableError
	switch {
	case errors.As(err, &fit):
		return "NoClusterFit"
	case errors.As(err, &unschedulable):
		return "Unschedulable"
	default:
		return "SchedulerError"
	}
}
