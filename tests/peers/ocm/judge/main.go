// Command judge decides worlds with the placement controller of Open Cluster Management, for the differential tests: see
// package frame. The controller runs over listers that hold the world and over a fake client, which takes what it writes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"github.com/openshift/library-go/pkg/controller/factory"
	libraryevents "github.com/openshift/library-go/pkg/operator/events"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	clusterfake "open-cluster-management.io/api/client/cluster/clientset/versioned/fake"
	clusterscheme "open-cluster-management.io/api/client/cluster/clientset/versioned/scheme"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"open-cluster-management.io/ocm/pkg/placement/controllers/framework"
	"open-cluster-management.io/ocm/pkg/placement/controllers/metrics"
	"open-cluster-management.io/ocm/pkg/placement/controllers/scheduling"
	"open-cluster-management.io/ocm/pkg/placement/plugins"
	"open-cluster-management.io/ocm/pkg/placement/plugins/addon"
	"open-cluster-management.io/ocm/pkg/placement/plugins/predicate"
	"open-cluster-management.io/ocm/pkg/placement/plugins/tainttoleration"

	"berth.dev/tests/peers/frame"
)

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	frame.Judge(judge)
}

func judge(world *frame.World) (frame.Verdicts, error) {
	now := clocktesting.NewFakeClock(world.Now)
	tainttoleration.TolerationClock, addon.AddOnClock = now, now
	objects, err := decode(world.Objects)
	if err != nil {
		return nil, err
	}
	verdicts := frame.Verdicts{}
	for _, object := range objects {
		if placement, ok := object.(*clusterv1beta1.Placement); ok {
			verdict, err := decide(objects, placement)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", placement.Name, err)
			}
			verdicts[placement.Namespace+"/"+placement.Name] = verdict
		}
	}
	return verdicts, nil
}

func decode(raw []json.RawMessage) ([]runtime.Object, error) {
	decoder := clusterscheme.Codecs.UniversalDeserializer()
	var objects []runtime.Object
	for _, text := range raw {
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// decide runs the controller once for the placement, on the world as it is.
func decide(objects []runtime.Object, placement *clusterv1beta1.Placement) (*frame.Verdict, error) {
	ctx := context.Background()
	client := clusterfake.NewSimpleClientset(objects...)
	informers := clusterinformers.NewSharedInformerFactory(client, 0)
	kinds := informers.Cluster()
	var clusters []*clusterv1.ManagedCluster
	for _, object := range objects {
		var err error
		switch object := object.(type) {
		case *clusterv1.ManagedCluster:
			clusters = append(clusters, object)
			err = kinds.V1().ManagedClusters().Informer().GetIndexer().Add(object)
		case *clusterv1beta2.ManagedClusterSet:
			err = kinds.V1beta2().ManagedClusterSets().Informer().GetIndexer().Add(object)
		case *clusterv1beta2.ManagedClusterSetBinding:
			err = kinds.V1beta2().ManagedClusterSetBindings().Informer().GetIndexer().Add(object)
		case *clusterv1beta1.Placement:
			err = kinds.V1beta1().Placements().Informer().GetIndexer().Add(object)
		case *clusterv1beta1.PlacementDecision:
			err = kinds.V1beta1().PlacementDecisions().Informer().GetIndexer().Add(object)
		case *clusterv1alpha1.AddOnPlacementScore:
			err = kinds.V1alpha1().AddOnPlacementScores().Informer().GetIndexer().Add(object)
		default:
			err = fmt.Errorf("no %T was expected", object)
		}
		if err != nil {
			return nil, err
		}
	}
	measures := metrics.NewScheduleMetrics(clock.RealClock{})
	handle := scheduling.NewSchedulerHandler(
		client,
		kinds.V1beta1().PlacementDecisions().Lister(),
		kinds.V1alpha1().AddOnPlacementScores().Lister(),
		kinds.V1().ManagedClusters().Lister(),
		&events.FakeRecorder{},
		measures,
	)
	watched := &watched{Scheduler: scheduling.NewPluginScheduler(handle)}
	controller := scheduling.NewSchedulingController(ctx, client,
		kinds.V1().ManagedClusters(), kinds.V1beta2().ManagedClusterSets(), kinds.V1beta2().ManagedClusterSetBindings(),
		kinds.V1beta1().Placements(), kinds.V1beta1().PlacementDecisions(), kinds.V1alpha1().AddOnPlacementScores(),
		watched, libraryevents.NewInMemoryRecorder("", clock.RealClock{}), &events.FakeRecorder{}, measures)
	// A warning and a misconfiguration are errors only after everything was written.
	_ = controller.Sync(ctx, &key{placement.Namespace + "/" + placement.Name})
	verdict := frame.NewVerdict()
	if watched.result == nil {
		verdict.Problem = "Ignored"
		return verdict, nil
	}
	watched.tell(verdict)
	refuse(ctx, verdict, handle, placement, clusters, watched.offered)
	written, err := written(ctx, client, placement)
	verdict.Written = written
	return verdict, err
}

// key is the queue of one placement.
type key struct{ name string }

func (k *key) Queue() workqueue.RateLimitingInterface {
	return workqueue.NewRateLimitingQueue(workqueue.DefaultControllerRateLimiter())
}
func (k *key) QueueKey() string { return k.name }
func (k *key) Recorder() libraryevents.Recorder {
	return libraryevents.NewInMemoryRecorder("", clock.RealClock{})
}

var _ factory.SyncContext = &key{}

// watched is the scheduler with a look at what goes in and what comes out.
type watched struct {
	scheduling.Scheduler
	offered []*clusterv1.ManagedCluster
	result  scheduling.ScheduleResult
	status  *framework.Status
}

func (w *watched) Schedule(ctx context.Context, placement *clusterv1beta1.Placement, clusters []*clusterv1.ManagedCluster) (
	scheduling.ScheduleResult, *framework.Status) {
	w.offered = append([]*clusterv1.ManagedCluster{}, clusters...)
	w.result, w.status = w.Scheduler.Schedule(ctx, placement, clusters)
	return w.result, w.status
}

// tell says what came out.
func (w *watched) tell(verdict *frame.Verdict) {
	if w.status.IsError() {
		verdict.Problem = "Misconfigured"
		return
	}
	for _, cluster := range w.result.Decisions() {
		verdict.Picked = append(verdict.Picked, cluster.Name)
	}
	verdict.Totals = w.result.PrioritizerScores()
	verdict.Scores = map[string]map[string]int64{}
	for _, prioritizer := range w.result.PrioritizerResults() {
		for cluster, score := range prioritizer.Scores {
			if verdict.Scores[cluster] == nil {
				verdict.Scores[cluster] = map[string]int64{}
			}
			verdict.Scores[cluster][prioritizer.Name] += score
		}
	}
}

// refuse asks each filter about every cluster. Which clusters are offered to them is the controller's choice.
func refuse(ctx context.Context, verdict *frame.Verdict, handle plugins.Handle, placement *clusterv1beta1.Placement,
	clusters, offered []*clusterv1.ManagedCluster) {
	if verdict.Problem != "" {
		return
	}
	refuse := func(filter string, passed []*clusterv1.ManagedCluster) {
		passes := map[string]bool{}
		for _, cluster := range passed {
			passes[cluster.Name] = true
		}
		for _, cluster := range clusters {
			if !passes[cluster.Name] {
				verdict.Refuse(cluster.Name, filter)
			}
		}
	}
	refuse("Candidates", offered)
	for _, filter := range []plugins.Filter{predicate.New(handle), tainttoleration.New(handle)} {
		result, status := filter.Filter(ctx, placement, append([]*clusterv1.ManagedCluster{}, clusters...))
		if !status.IsError() {
			refuse(filter.Name(), result.Filtered)
		}
	}
}

// written is what the controller wrote: the placement's status and its decisions.
func written(ctx context.Context, client *clusterfake.Clientset, placement *clusterv1beta1.Placement) (any, error) {
	type object struct {
		Labels   map[string]string `json:"labels"`
		Clusters []string          `json:"clusters"`
	}
	decisions := map[string]object{}
	list, err := client.ClusterV1beta1().PlacementDecisions(placement.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: clusterv1beta1.PlacementLabel + "=" + placement.Name,
	})
	if err != nil {
		return nil, err
	}
	for _, decision := range list.Items {
		clusters := []string{}
		for _, listed := range decision.Status.Decisions {
			clusters = append(clusters, listed.ClusterName)
		}
		decisions[decision.Name] = object{Labels: decision.Labels, Clusters: clusters}
	}
	stored, err := client.ClusterV1beta1().Placements(placement.Namespace).Get(ctx, placement.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	conditions := map[string]string{}
	for _, condition := range stored.Status.Conditions {
		conditions[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	for _, group := range stored.Status.DecisionGroups {
		sort.Strings(group.Decisions)
	}
	return map[string]any{
		"decisions":  decisions,
		"selected":   stored.Status.NumberOfSelectedClusters,
		"groups":     stored.Status.DecisionGroups,
		"conditions": conditions,
	}, nil
}
