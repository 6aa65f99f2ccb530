// Command ocm decides with the placement scheduler of Open Cluster Management, for the benchmark of schedulers.
//
//	ocm FLEET
//
// reads a fleet (a JSON object with the lists clusters, scores, decisions and placements), then answers each line of
// standard input, "NAME COUNT", by deciding the placement of that name COUNT times and printing one line of JSON: how
// long each took, in nanoseconds of the clock and of processor time, and the clusters picked, in the scheduler's order, with their scores.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

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
)

type fleet struct {
	Clusters   []*clusterv1.ManagedCluster            `json:"clusters"`
	Scores     []*clusterv1alpha1.AddOnPlacementScore `json:"scores"`
	Decisions  []*clusterv1beta1.PlacementDecision    `json:"decisions"`
	Placements []*clusterv1beta1.Placement            `json:"placements"`
}

type answer struct {
	Nanoseconds []int64          `json:"nanoseconds"`
	Processor   []int64          `json:"processor"`
	Picked      []string         `json:"picked"`
	Scores      map[string]int64 `json:"scores"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: ocm FLEET")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var world fleet
	if err := json.Unmarshal(text, &world); err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	scheduler, err := newScheduler(&world)
	if err != nil {
		return err
	}
	placements := map[string]*clusterv1beta1.Placement{}
	for _, placement := range world.Placements {
		placements[placement.Name] = placement
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name string
		var count int
		if _, err := fmt.Sscan(lines.Text(), &name, &count); err != nil {
			return fmt.Errorf("%q: NAME COUNT is expected: %w", lines.Text(), err)
		}
		placement, ok := placements[name]
		if !ok {
			return fmt.Errorf("there is no placement %q", name)
		}
		result, err := decide(scheduler, placement, world.Clusters, count)
		if err != nil {
			return err
		}
		line, err := json.Marshal(result)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return lines.Err()
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

func decide(
	scheduler scheduling.Scheduler,
	placement *clusterv1beta1.Placement,
	clusters []*clusterv1.ManagedCluster,
	count int,
) (*answer, error) {
	result := &answer{Picked: []string{}, Scores: map[string]int64{}}
	for range count {
		begun, used := time.Now(), processorTime()
		decided, status := scheduler.Schedule(context.Background(), placement, clusters)
		result.Nanoseconds = append(result.Nanoseconds, time.Since(begun).Nanoseconds())
		result.Processor = append(result.Processor, processorTime()-used)
		if status.IsError() {
			return nil, fmt.Errorf("%s: %w", placement.Name, status.AsError())
		}
		result.Picked = result.Picked[:0]
		for _, cluster := range decided.Decisions() {
			result.Picked = append(result.Picked, cluster.Name)
			result.Scores[cluster.Name] = decided.PrioritizerScores()[cluster.Name]
		}
	}
	return result, nil
}

// processorTime is what this process has used so far, in nanoseconds, its garbage collector included.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
