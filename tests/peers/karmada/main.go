// Command karmada decides with the algorithm of Karmada's scheduler, for the benchmark of schedulers: see package frame. Its fleets
// have the lists clusters and bindings; clusters are told by name, with their replicas.
package main

import (
	"fmt"
	"sort"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"berth.dev/tests/peers/frame"
	"berth.dev/tests/peers/karmada/scheduler"
)

type fleet struct {
	Clusters []*clusterv1alpha1.Cluster      `json:"clusters"`
	Bindings []*workv1alpha2.ResourceBinding `json:"bindings"`
}

func main() {
	scheduler.Quiet()
	frame.Main(open)
}

// original is the scheduler over one fleet.
type original struct {
	scheduler *scheduler.Scheduler
	bindings  map[string]*workv1alpha2.ResourceBinding
	result    scheduler.Result
}

func open(world *fleet) (frame.Scheduler, error) {
	made, err := scheduler.New(world.Clusters)
	if err != nil {
		return nil, err
	}
	bindings := map[string]*workv1alpha2.ResourceBinding{}
	for _, binding := range world.Bindings {
		bindings[binding.Name] = binding
	}
	return &original{scheduler: made, bindings: bindings}, nil
}

func (o *original) Prepare(name string) (func() error, error) {
	binding, ok := o.bindings[name]
	if !ok {
		return nil, fmt.Errorf("there is no such binding")
	}
	return func() error {
		result, err := o.scheduler.Schedule(binding)
		o.result = result
		return err
	}, nil
}

func (o *original) Picked() frame.Picked {
	picked := frame.Picked{Names: []string{}}
	for _, target := range o.result.Clusters {
		picked.Names = append(picked.Names, fmt.Sprintf("%s:%d", target.Name, target.Replicas))
	}
	sort.Strings(picked.Names)
	return picked
}
