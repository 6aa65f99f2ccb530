// Command ocm decides with the placement scheduler of Open Cluster Management, for the benchmark of schedulers: see
// package frame. Its fleets have the lists clusters, scores, decisions and placements; clusters are picked in the
// scheduler's order, with their scores.
package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	clusterlisterv1 "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
	clusterlisterv1alpha1 "open-cluster-management.io/api/client/cluster/listers/cluster/v1alpha1"
	clusterlisterv1beta1 "open-cluster-management.io/api/client/cluster/listers/cluster/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"open-cluster-management.io/ocm/pkg/placement/controllers/metrics"
	"open-cluster-management.io/ocm/pkg/placement/controllers/scheduling"

	"berth.dev/tests/peers/frame"
)

type fleet struct {
	Clusters   []*clusterv1.ManagedCluster            `json:"clusters"`
	Scores     []*clusterv1alpha1.AddOnPlacementScore `json:"scores"`
	Decisions  []*clusterv1beta1.PlacementDecision    `json:"decisions"`
	Placements []*clusterv1beta1.Placement            `json:"placements"`
}

func main() {
	frame.Main(open)
}

// original is the scheduler over one fleet.
type original struct {
	scheduler  scheduling.Scheduler
	clusters   []*clusterv1.ManagedCluster
	placements map[string]*clusterv1beta1.Placement
	result     scheduling.ScheduleResult
}

func open(world *fleet) (frame.Scheduler, error) {
	scheduler, err := newScheduler(world)
	if err != nil {
		return nil, err
	}
	placements := map[string]*clusterv1beta1.Placement{}
	for _, placement := range world.Placements {
		placements[placement.Name] = placement
	}
	return &original{scheduler: scheduler, clusters: world.Clusters, placements: placements}, nil
}

func (o *original) Prepare(name string) (func() error, error) {
	placement, ok := o.placements[name]
	if !ok {
		return nil, fmt.Errorf("there is no such placement")
	}
	return func() error {
		result, status := o.scheduler.Schedule(context.Background(), placement, o.clusters)
		o.result = result
		if status.IsError() {
			return status.AsError()
		}
		return nil
	}, nil
}

func (o *original) Picked() frame.Picked {
	picked := frame.Picked{Names: []string{}, Scores: map[string]int64{}}
	for _, cluster := range o.result.Decisions() {
		picked.Names = append(picked.Names, cluster.Name)
		picked.Scores[cluster.Name] = o.result.PrioritizerScores()[cluster.Name]
	}
	return picked
}

// newScheduler gives the scheduler listers over what the file has, as its informers would.
func newScheduler(world *fleet) (scheduling.Scheduler, error) {
	index := func(objects ...any) (cache.Indexer, error) {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, object := range objects {
			if err := indexer.Add(object); err != nil {
				return nil, err
			}
		}
		return indexer, nil
	}
	clusters, err := index(anys(world.Clusters)...)
	if err != nil {
		return nil, err
	}
	scores, err := index(anys(world.Scores)...)
	if err != nil {
		return nil, err
	}
	decisions, err := index(anys(world.Decisions)...)
	if err != nil {
		return nil, err
	}
	handle := scheduling.NewSchedulerHandler(
		nil, // no plugin asked for here writes
		clusterlisterv1beta1.NewPlacementDecisionLister(decisions),
		clusterlisterv1alpha1.NewAddOnPlacementScoreLister(scores),
		clusterlisterv1.NewManagedClusterLister(clusters),
		&events.FakeRecorder{},
		metrics.NewScheduleMetrics(clock.RealClock{}),
	)
	return scheduling.NewPluginScheduler(handle), nil
}

func anys[T any](items []T) []any {
	all := make([]any, len(items))
	for index, item := range items {
		all[index] = item
	}
	return all
}
