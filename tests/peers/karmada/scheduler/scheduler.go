// Package scheduler is the algorithm of Karmada's scheduler over clusters in memory. Groups of clusters are gone through as the
// scheduler does, from the observed one on; a decision is made whether the scheduler would look or not.
package scheduler

import (
	"context"
	"errors"
	"flag"
	"io"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlister "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	schedulercache "github.com/karmada-io/karmada/pkg/scheduler/cache"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/runtime"
)

// Scheduler decides over the clusters that it was made with.
type Scheduler struct {
	algorithm core.ScheduleAlgorithm
	registry  runtime.Registry
}

// Result is one decision.
type Result struct {
	// Group is the group of clusters that took all, or the first that was tried; empty where there are none.
	Group string
	// Status is the status that the group was tried with.
	Status *workv1alpha2.ResourceBindingStatus
	// Clusters are the clusters with their replicas.
	Clusters []workv1alpha2.TargetCluster
}

// Quiet keeps the scheduler from logging, which it does at every step of a decision: it is no part of it.
func Quiet() {
	klog.InitFlags(nil)
	if err := flag.Set("logtostderr", "false"); err == nil {
		klog.SetOutput(io.Discard)
	}
}

// New returns a scheduler over these clusters.
func New(clusters []*clusterv1alpha1.Cluster) (*Scheduler, error) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, cluster := range clusters {
		if err := indexer.Add(cluster); err != nil {
			return nil, err
		}
	}
	registry := plugins.NewInTreeRegistry()
	bindings := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	known := schedulercache.NewCache(clusterlister.NewClusterLister(indexer), bindings, 0)
	algorithm, err := core.NewGenericScheduler(known, registry)
	if err != nil {
		return nil, err
	}
	return &Scheduler{algorithm: algorithm, registry: registry}, nil
}

// Filters returns each filter by itself.
func (s *Scheduler) Filters() ([]framework.FilterPlugin, error) {
	var filters []framework.FilterPlugin
	for _, build := range s.registry {
		plugin, err := build()
		if err != nil {
			return nil, err
		}
		if filter, ok := plugin.(framework.FilterPlugin); ok {
			filters = append(filters, filter)
		}
	}
	return filters, nil
}

// Schedule tries group after group from the observed one on. Beside an error it returns what was tried first.
func (s *Scheduler) Schedule(binding *workv1alpha2.ResourceBinding) (Result, error) {
	once := func(status *workv1alpha2.ResourceBindingStatus) ([]workv1alpha2.TargetCluster, error) {
		// The algorithm fills in the placement it is given.
		spec := binding.Spec.DeepCopy()
		result, err := s.algorithm.Schedule(context.Background(), spec, status, &core.ScheduleAlgorithmOption{})
		return result.SuggestedClusters, err
	}
	groups := binding.Spec.Placement.ClusterAffinities
	if groups == nil {
		status := binding.Status.DeepCopy()
		clusters, err := once(status)
		return Result{Status: status, Clusters: clusters}, err
	}
	start := 0
	for index, group := range groups {
		if group.AffinityName == binding.Status.SchedulerObservedAffinityName {
			start = index
			break
		}
	}
	var first Result
	var firstErr error
	for _, group := range groups[start:] {
		status := binding.Status.DeepCopy()
		status.SchedulerObservedAffinityName = group.AffinityName
		clusters, err := once(status)
		if err == nil {
			return Result{Group: group.AffinityName, Status: status, Clusters: clusters}, nil
		}
		if firstErr == nil {
			first, firstErr = Result{Group: group.AffinityName, Status: status}, err
		}
	}
	return first, firstErr
}

// Reason returns the reason of the condition that the scheduler writes about an error.
func Reason(err error) string {
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
