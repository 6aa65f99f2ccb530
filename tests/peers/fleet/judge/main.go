// Command judge decides worlds with the scheduling framework of KubeFleet, for the differential tests: see package frame. A
// demand is scheduled cycle by cycle, as its scheduler does, over a fake client that holds the world; then each filter is
// asked about each cluster, as one more cycle would.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1beta1 "go.goms.io/fleet/apis/cluster/v1beta1"
	placementv1beta1 "go.goms.io/fleet/apis/placement/v1beta1"
	"go.goms.io/fleet/pkg/scheduler/framework"
	"go.goms.io/fleet/pkg/scheduler/framework/plugins/clusteraffinity"
	"go.goms.io/fleet/pkg/scheduler/framework/plugins/clustereligibility"
	"go.goms.io/fleet/pkg/scheduler/framework/plugins/tainttoleration"
	"go.goms.io/fleet/pkg/scheduler/framework/plugins/topologyspreadconstraints"
	"go.goms.io/fleet/pkg/scheduler/profile"

	"berth.dev/tests/peers/frame"
)

// cycles are more than any world here needs.
const cycles = 100

var scheme = runtime.NewScheme()

func main() {
	klog.InitFlags(nil)
	for _, set := range []func(*runtime.Scheme) error{clusterv1beta1.AddToScheme, placementv1beta1.AddToScheme} {
		if err := set(scheme); err != nil {
			panic(err)
		}
	}
	if err := flag.Set("logtostderr", "false"); err == nil {
		klog.SetOutput(io.Discard)
	}
	frame.Judge(judge)
}

func judge(world *frame.World) (frame.Verdicts, error) {
	objects, err := decode(world)
	if err != nil {
		return nil, err
	}
	verdicts := frame.Verdicts{}
	for _, object := range objects {
		if placement, ok := object.(*placementv1beta1.ClusterResourcePlacement); ok {
			verdict, err := decide(objects, placement)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", placement.Name, err)
			}
			verdicts[placement.Name] = verdict
		}
	}
	return verdicts, nil
}

// decode reads the objects. Eligibility goes by the clock on the wall: what the world says of time is moved there.
func decode(world *frame.World) ([]client.Object, error) {
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	later := time.Since(world.Now)
	var objects []client.Object
	for _, text := range world.Objects {
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		if cluster, ok := object.(*clusterv1beta1.MemberCluster); ok {
			for index := range cluster.Status.AgentStatus {
				agent := &cluster.Status.AgentStatus[index]
				agent.LastReceivedHeartbeat.Time = agent.LastReceivedHeartbeat.Add(later)
				for index := range agent.Conditions {
					condition := &agent.Conditions[index]
					condition.LastTransitionTime.Time = condition.LastTransitionTime.Add(later)
				}
			}
		}
		objects = append(objects, object.(client.Object))
	}
	return objects, nil
}

func decide(objects []client.Object, placement *placementv1beta1.ClusterResourcePlacement) (*frame.Verdict, error) {
	verdict, err := run(objects, placement, false)
	if err != nil || verdict.Problem != "" {
		return verdict, err
	}
	// The same, with what the policy before bound given up at the end.
	patient, err := run(objects, placement, true)
	if err == nil && !reflect.DeepEqual(verdict, patient) {
		verdict.Patient = patient
	}
	return verdict, err
}

func run(objects []client.Object, placement *placementv1beta1.ClusterResourcePlacement, patient bool) (*frame.Verdict, error) {
	ctx := context.Background()
	copies := make([]client.Object, len(objects))
	var clusters []string
	for index, object := range objects {
		copies[index] = object.DeepCopyObject().(client.Object)
		if cluster, ok := object.(*clusterv1beta1.MemberCluster); ok {
			clusters = append(clusters, cluster.Name)
		}
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(copies...).
		WithStatusSubresource(&placementv1beta1.ClusterSchedulingPolicySnapshot{}).Build()
	verdict := frame.NewVerdict()
	waiting := &waiting{Client: hub, patient: patient}
	scheduler := framework.NewFramework(profile.NewDefaultProfile(), &manager{hub: waiting})
	err := schedule(ctx, hub, scheduler, placement)
	if err == nil {
		err = waiting.end(ctx)
	}
	if err != nil {
		verdict.Problem = "Invalid"
		return verdict, nil
	}
	bindings, err := tell(ctx, hub, verdict, placement)
	if err != nil {
		return nil, err
	}
	policy, err := latest(ctx, hub, placement)
	if err != nil {
		return nil, err
	}
	if policy.Spec.Policy != nil && policy.Spec.Policy.PlacementType == placementv1beta1.PickFixedPlacementType {
		return verdict, nil
	}
	return verdict, ask(ctx, &manager{hub: hub}, verdict, policy, bindings, clusters)
}

// waiting is a client that, if it is patient, lets nothing go before the end. A scheduler of one cluster a cycle gives up in
// its first cycle what it has not picked by then, and so forgets that a cluster was there before.
type waiting struct {
	client.Client
	lock    sync.Mutex
	patient bool
	gone    []*placementv1beta1.ClusterResourceBinding
}

func (w *waiting) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	binding, ok := object.(*placementv1beta1.ClusterResourceBinding)
	if w.patient && ok && binding.Spec.State == placementv1beta1.BindingStateUnscheduled {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.gone = append(w.gone, binding.DeepCopy())
		return nil
	}
	return w.Client.Update(ctx, object, options...)
}

// end lets go what no later cycle has picked.
func (w *waiting) end(ctx context.Context) error {
	for _, binding := range w.gone {
		stored := &placementv1beta1.ClusterResourceBinding{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(binding), stored); err != nil {
			return err
		}
		if stored.ResourceVersion == binding.ResourceVersion {
			if err := w.Client.Update(ctx, binding); err != nil {
				return err
			}
		}
	}
	return nil
}

// latest is the policy that counts.
func latest(ctx context.Context, hub client.Client, placement *placementv1beta1.ClusterResourcePlacement) (
	*placementv1beta1.ClusterSchedulingPolicySnapshot, error) {
	list := &placementv1beta1.ClusterSchedulingPolicySnapshotList{}
	labels := client.MatchingLabels{
		placementv1beta1.CRPTrackingLabel:      placement.Name,
		placementv1beta1.IsLatestSnapshotLabel: "true",
	}
	if err := hub.List(ctx, list, labels); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d latest snapshots", len(list.Items))
	}
	return &list.Items[0], nil
}

// schedule runs cycles until none is asked for.
func schedule(ctx context.Context, hub client.Client, scheduler framework.Framework,
	placement *placementv1beta1.ClusterResourcePlacement) error {
	for range cycles {
		policy, err := latest(ctx, hub, placement)
		if err != nil {
			return err
		}
		result, err := scheduler.RunSchedulingCycleFor(ctx, placement.Name, policy)
		if err != nil || !result.Requeue {
			return err
		}
	}
	panic("scheduling does not end")
}

type binding struct {
	State    string `json:"state"`
	Snapshot string `json:"snapshot"`
	Scores   string `json:"scores"`
}

// tell says what is bound now, and what the policy's status says. It counts what is bound by it.
func tell(ctx context.Context, hub client.Client, verdict *frame.Verdict, placement *placementv1beta1.ClusterResourcePlacement) (
	int, error) {
	list := &placementv1beta1.ClusterResourceBindingList{}
	if err := hub.List(ctx, list, client.MatchingLabels{placementv1beta1.CRPTrackingLabel: placement.Name}); err != nil {
		return 0, err
	}
	bindings := map[string]binding{}
	for _, one := range list.Items {
		if !one.DeletionTimestamp.IsZero() {
			continue
		}
		name := one.Spec.TargetCluster
		told := binding{State: string(one.Spec.State), Snapshot: one.Spec.SchedulingPolicySnapshotName}
		if one.Spec.State != placementv1beta1.BindingStateUnscheduled {
			verdict.Picked = append(verdict.Picked, name)
			told.Scores = scores(one.Spec.ClusterDecision.ClusterScore)
		}
		bindings[name] = told
	}
	sort.Strings(verdict.Picked)
	policy, err := latest(ctx, hub, placement)
	if err != nil {
		return 0, err
	}
	selected := []string{}
	for _, decision := range policy.Status.ClusterDecisions {
		if decision.Selected {
			selected = append(selected, decision.ClusterName+" "+scores(decision.ClusterScore))
		}
	}
	sort.Strings(selected)
	conditions := map[string]string{}
	for _, condition := range policy.Status.Conditions {
		conditions[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	verdict.Written = map[string]any{"bindings": bindings, "selected": selected, "conditions": conditions}
	return len(verdict.Picked), nil
}

// scores are the scores of spread and affinity; what has none has 0.
func scores(of *placementv1beta1.ClusterScore) string {
	number := func(score *int32) int32 {
		if score == nil {
			return 0
		}
		return *score
	}
	if of == nil {
		return "0 0"
	}
	return fmt.Sprintf("%d %d", number(of.TopologySpreadScore), number(of.AffinityScore))
}

// ask runs a cycle that wants one more, in which every filter judges every cluster.
func ask(ctx context.Context, manager *manager, verdict *frame.Verdict, policy *placementv1beta1.ClusterSchedulingPolicySnapshot,
	bound int, clusters []string) error {
	if policy.Spec.Policy != nil && policy.Spec.Policy.PlacementType == placementv1beta1.PickNPlacementType {
		policy.Annotations[placementv1beta1.NumberOfClustersAnnotation] = strconv.Itoa(bound + 1)
	}
	affinity, eligibility := clusteraffinity.New(), clustereligibility.New()
	taints, spread := tainttoleration.New(), topologyspreadconstraints.New()
	watch := &watch{
		filters: []framework.FilterPlugin{&affinity, &eligibility, &taints, &spread},
		skipped: map[string]bool{},
		refused: map[string][]string{},
	}
	asking := framework.NewProfile("asking").WithPreFilterPlugin(watch).WithFilterPlugin(watch)
	_, err := framework.NewFramework(asking, manager).RunSchedulingCycleFor(ctx, policy.Labels[placementv1beta1.CRPTrackingLabel], policy)
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		for _, filter := range watch.refused[cluster] {
			verdict.Refuse(cluster, filter)
		}
	}
	return nil
}

// watch is a plugin that asks all the others, and lets every cluster pass.
type watch struct {
	filters []framework.FilterPlugin
	skipped map[string]bool
	lock    sync.Mutex
	refused map[string][]string
}

func (w *watch) Name() string { return "Watch" }

func (w *watch) SetUpWithFramework(handle framework.Handle) {
	for _, filter := range w.filters {
		filter.SetUpWithFramework(handle)
	}
}

func (w *watch) PreFilter(ctx context.Context, state framework.CycleStatePluginReadWriter,
	policy *placementv1beta1.ClusterSchedulingPolicySnapshot) *framework.Status {
	for _, filter := range w.filters {
		if first, ok := filter.(framework.PreFilterPlugin); ok {
			status := first.PreFilter(ctx, state, policy)
			if status.IsInteralError() {
				return status
			}
			w.skipped[filter.Name()] = status.IsSkip()
		}
	}
	return nil
}

func (w *watch) Filter(ctx context.Context, state framework.CycleStatePluginReadWriter,
	policy *placementv1beta1.ClusterSchedulingPolicySnapshot, cluster *clusterv1beta1.MemberCluster) *framework.Status {
	for _, filter := range w.filters {
		// Whether a cluster that has it already could be picked again is no question.
		_, spread := filter.(*topologyspreadconstraints.Plugin)
		if w.skipped[filter.Name()] || spread && state.HasScheduledOrBoundBindingFor(cluster.Name) {
			continue
		}
		status := filter.Filter(ctx, state, policy, cluster)
		if status.IsInteralError() {
			return status
		}
		if status.IsClusterUnschedulable() {
			w.lock.Lock()
			w.refused[cluster.Name] = append(w.refused[cluster.Name], filter.Name())
			w.lock.Unlock()
		}
	}
	return nil
}

// manager gives the framework what it asks a manager for.
type manager struct {
	ctrl.Manager
	hub client.Client
}

func (m *manager) GetClient() client.Client                        { return m.hub }
func (m *manager) GetAPIReader() client.Reader                     { return m.hub }
func (m *manager) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }
