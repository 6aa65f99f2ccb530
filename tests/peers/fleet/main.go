// Command fleet decides with the scheduling framework of KubeFleet, for the benchmark of schedulers.
//
//	fleet FLEET
//
// reads a fleet (a JSON object with the lists clusters and policies, the latter policy snapshots named NAME-0 of
// placements NAME), then answers each line of standard input, "NAME COUNT", by running the scheduling cycle of that
// placement COUNT times and printing one line of JSON: how long each took, in nanoseconds of the clock and of processor time, and the clusters picked, by
// name. What a cycle reads comes from memory, as from its cache; what it writes is taken and forgotten.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "go.goms.io/fleet/apis/cluster/v1beta1"
	placementv1beta1 "go.goms.io/fleet/apis/placement/v1beta1"
	"go.goms.io/fleet/pkg/scheduler/clustereligibilitychecker"
	"go.goms.io/fleet/pkg/scheduler/framework"
	"go.goms.io/fleet/pkg/scheduler/profile"
)

type fleet struct {
	Clusters []clusterv1beta1.MemberCluster                     `json:"clusters"`
	Policies []placementv1beta1.ClusterSchedulingPolicySnapshot `json:"policies"`
}

type answer struct {
	Nanoseconds []int64  `json:"nanoseconds"`
	Processor   []int64  `json:"processor"`
	Picked      []string `json:"picked"`
}

func main() {
	// Several lines a cycle: what is written there is no part of deciding.
	klog.InitFlags(nil)
	if err := flag.Set("logtostderr", "false"); err == nil {
		klog.SetOutput(io.Discard)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: fleet FLEET")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var world fleet
	if err := json.Unmarshal(text, &world); err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	policies := map[string]*placementv1beta1.ClusterSchedulingPolicySnapshot{}
	for index := range world.Policies {
		policies[world.Policies[index].Name] = &world.Policies[index]
	}
	hub := &memory{clusters: world.Clusters}
	// Heartbeats in the file are as old as the file: eligible is who has joined.
	patient := clustereligibilitychecker.New(
		clustereligibilitychecker.WithClusterHeartbeatCheckTimeout(time.Hour*24*365*100),
		clustereligibilitychecker.WithClusterHealthCheckTimeout(time.Hour*24*365*100),
	)
	scheduler := framework.NewFramework(profile.NewDefaultProfile(), &manager{hub: hub},
		framework.WithClusterEligibilityChecker(patient))
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name string
		var count int
		if _, err := fmt.Sscan(lines.Text(), &name, &count); err != nil {
			return fmt.Errorf("%q: NAME COUNT is expected: %w", lines.Text(), err)
		}
		policy, ok := policies[name+"-0"]
		if !ok {
			return fmt.Errorf("there is no policy of %q", name)
		}
		result, err := decide(scheduler, hub, name, policy, count)
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

func decide(
	scheduler framework.Framework,
	hub *memory,
	name string,
	policy *placementv1beta1.ClusterSchedulingPolicySnapshot,
	count int,
) (*answer, error) {
	result := &answer{}
	for range count {
		fresh := policy.DeepCopy()
		hub.created = nil
		begun, used := time.Now(), processorTime()
		_, err := scheduler.RunSchedulingCycleFor(context.Background(), name, fresh)
		result.Nanoseconds = append(result.Nanoseconds, time.Since(begun).Nanoseconds())
		result.Processor = append(result.Processor, processorTime()-used)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	result.Picked = append([]string{}, hub.created...)
	sort.Strings(result.Picked)
	return result, nil
}

// memory is the hub: clusters, and nothing bound.
type memory struct {
	client.Client
	clusters []clusterv1beta1.MemberCluster
	lock     sync.Mutex
	created  []string
}

func (m *memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *clusterv1beta1.MemberClusterList:
		// A copy, as a cache gives; a shallow one is the least it can do.
		list.Items = append([]clusterv1beta1.MemberCluster(nil), m.clusters...)
		return nil
	case *placementv1beta1.ClusterResourceBindingList:
		return nil
	default:
		return fmt.Errorf("no list of %T was expected", list)
	}
}

func (m *memory) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	binding, ok := object.(*placementv1beta1.ClusterResourceBinding)
	if !ok {
		return fmt.Errorf("no %T was expected to be created", object)
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.created = append(m.created, binding.Spec.TargetCluster)
	return nil
}

func (m *memory) Status() client.SubResourceWriter { return forgetful{} }

// forgetful takes the status of policies.
type forgetful struct{ client.SubResourceWriter }

func (forgetful) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return nil
}

// manager gives the framework what it asks a manager for.
type manager struct {
	ctrl.Manager
	hub *memory
}

func (m *manager) GetClient() client.Client                        { return m.hub }
func (m *manager) GetAPIReader() client.Reader                     { return m.hub }
func (m *manager) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// processorTime is what this process has used so far, in nanoseconds, its garbage collector included.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
