// Command fleet decides with the scheduling framework of KubeFleet, for the benchmark of schedulers: see package frame.
// Its fleets have the lists clusters and policies, the latter policy snapshots named NAME-0 of placements NAME; a
// decision is one scheduling cycle of a placement, and clusters are picked by name. What a cycle reads comes from memory,
// as from its cache; what it writes is taken and forgotten.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"sort"
	"sync"
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

	"berth.dev/tests/peers/frame"
)

type fleet struct {
	Clusters []clusterv1beta1.MemberCluster                     `json:"clusters"`
	Policies []placementv1beta1.ClusterSchedulingPolicySnapshot `json:"policies"`
}

func main() {
	// Several lines a cycle: what is written there is no part of deciding.
	klog.InitFlags(nil)
	if err := flag.Set("logtostderr", "false"); err == nil {
		klog.SetOutput(io.Discard)
	}
	frame.Main(open)
}

// original is the framework over one fleet.
type original struct {
	scheduler framework.Framework
	hub       *memory
	policies  map[string]*placementv1beta1.ClusterSchedulingPolicySnapshot
}

func open(world *fleet) (frame.Scheduler, error) {
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
	return &original{scheduler: scheduler, hub: hub, policies: policies}, nil
}

func (o *original) Prepare(name string) (func() error, error) {
	policy, ok := o.policies[name+"-0"]
	if !ok {
		return nil, fmt.Errorf("there is no policy of this placement")
	}
	fresh := policy.DeepCopy()
	o.hub.created = nil
	return func() error {
		_, err := o.scheduler.RunSchedulingCycleFor(context.Background(), name, fresh)
		return err
	}, nil
}

func (o *original) Picked() frame.Picked {
	names := append([]string{}, o.hub.created...)
	sort.Strings(names)
	return frame.Picked{Names: names}
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
