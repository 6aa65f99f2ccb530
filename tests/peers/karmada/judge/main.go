// Command judge decides worlds with the algorithm of Karmada's scheduler, for the differential tests: see frame.Judge and package
// scheduler. Objects are Clusters and ResourceBindings.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"

	"berth.dev/tests/peers/frame"
	"berth.dev/tests/peers/karmada/scheduler"
)

func main() {
	scheduler.Quiet()
	frame.Judge(decide)
}

// fleet is one world.
type fleet struct {
	clusters  []*clusterv1alpha1.Cluster
	bindings  []*workv1alpha2.ResourceBinding
	scheduler *scheduler.Scheduler
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
	var err error
	if all.scheduler, err = scheduler.New(all.clusters); err != nil {
		return nil, err
	}
	if all.filters, err = all.scheduler.Filters(); err != nil {
		return nil, err
	}
	sort.Slice(all.filters, func(one, other int) bool { return all.filters[one].Name() < all.filters[other].Name() })
	return all, nil
}

// judge decides one binding on the world as it is.
func (f *fleet) judge(binding *workv1alpha2.ResourceBinding) *frame.Verdict {
	verdict := frame.NewVerdict()
	result, err := f.scheduler.Schedule(binding)
	if err != nil {
		verdict.Problem = scheduler.Reason(err)
	} else {
		verdict.Written = map[string]string{"group": result.Group}
	}
	for _, target := range result.Clusters {
		verdict.Picked = append(verdict.Picked, fmt.Sprintf("%s:%d", target.Name, target.Replicas))
	}
	sort.Strings(verdict.Picked)
	for _, cluster := range f.clusters {
		if !cluster.DeletionTimestamp.IsZero() {
			verdict.Refuse(cluster.Name, "ClusterDeletion")
		}
		for _, filter := range f.filters {
			if !filter.Filter(context.Background(), binding.Spec.DeepCopy(), result.Status, cluster).IsSuccess() {
				verdict.Refuse(cluster.Name, filter.Name())
			}
		}
		sort.Strings(verdict.Refused[cluster.Name])
	}
	return verdict
}
