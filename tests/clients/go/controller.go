package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	story    = "story-1"
	election = "clusters-of-decisions"
)

var (
	decisions  = schema.GroupVersionKind{Group: "scheduling.berth.dev", Version: "v1alpha1", Kind: "Decision"}
	placements = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"}
)

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// reconciler keeps a ConfigMap beside each Decision, with the names of its clusters.
type reconciler struct {
	client.Client
	name string
}

// clusters gives the names of the clusters of a decision.
func clusters(decision *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(decision.Object, "status", "decisions")
	names := []string{}
	for _, entry := range list {
		name, _, _ := unstructured.NestedString(entry.(map[string]any), "clusterName")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	decision := object(decisions)
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	if err := r.Get(ctx, request.NamespacedName, decision); apierrors.IsNotFound(err) {
		// Nobody can delete a Decision, and so, as in Kubernetes, no garbage collector looks at what it owns.
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, written))
	} else if err != nil {
		return ctrl.Result{}, err
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, written, func() error {
		written.Data = map[string]string{"clusters": strings.Join(clusters(decision), ","), "by": r.name}
		return controllerutil.SetControllerReference(decision, written, r.Scheme())
	})
	return ctrl.Result{}, err
}

// manager is a running manager.
type manager struct {
	stop  context.CancelFunc
	ended chan error
}

func begin(ctx context.Context, config *rest.Config, name string) (*manager, error) {
	made, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: election, LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: ptr.To(8 * time.Second), RenewDeadline: ptr.To(6 * time.Second), RetryPeriod: ptr.To(250 * time.Millisecond),
		Metrics:    server.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		Logger:     logr.Discard(),
	})
	if err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(made).Named(election).For(object(decisions)).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{Client: made.GetClient(), name: name})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	running := &manager{stop: stop, ended: make(chan error, 1)}
	go func() { running.ended <- made.Start(ctx) }()
	return running, nil
}

// holder is who holds the lease, and how often it changed hands.
func holder(ctx context.Context, direct client.Client) (string, int32, error) {
	lease := &coordinationv1.Lease{}
	if err := direct.Get(ctx, client.ObjectKey{Namespace: namespace, Name: election}, lease); err != nil {
		return "", 0, err
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.LeaseTransitions, 0), nil
}

// written waits until the ConfigMap has so many clusters and was written by `by`: those of the decision.
func clustersWritten(ctx context.Context, direct client.Client, by string, count int) error {
	return until(ctx, "the ConfigMap by "+by, func() error {
		key, decision, written := client.ObjectKey{Namespace: story, Name: "placement.ocm"}, object(decisions), &corev1.ConfigMap{}
		if err := direct.Get(ctx, key, decision); err != nil {
			return err
		}
		if err := direct.Get(ctx, key, written); err != nil {
			return err
		}
		decided := clusters(decision)
		if len(decided) != count || written.Data["clusters"] != strings.Join(decided, ",") || written.Data["by"] != by {
			return fmt.Errorf("decided %v, written %v", decided, written.Data)
		}
		return nil
	})
}

// place asks for so many clusters.
func place(ctx context.Context, direct client.Client, count int) error {
	placement := object(placements)
	placement.SetNamespace(story)
	placement.SetName("placement")
	patch := fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, count)
	return direct.Patch(ctx, placement, client.RawPatch("application/merge-patch+json", patch))
}

// lead runs a controller of Decisions that elects a leader.
func lead(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	first, err := begin(ctx, config, "first")
	if err != nil {
		return err
	}
	if err := clustersWritten(ctx, direct, "first", 3); err != nil {
		return err
	}
	leader, _, err := holder(ctx, direct)
	if err != nil || leader == "" {
		return fmt.Errorf("nobody holds the lease: %w", err)
	}
	did("a controller is elected by its Lease, and writes what Decisions say")
	second, err := begin(ctx, config, "second")
	if err != nil {
		return err
	}
	if err := place(ctx, direct, 2); err != nil {
		return err
	}
	if err := clustersWritten(ctx, direct, "first", 2); err != nil {
		return err
	}
	did("it follows a decision while another waits")
	first.stop()
	if err := <-first.ended; err != nil {
		return err
	}
	if err := place(ctx, direct, 1); err != nil {
		return err
	}
	if err := clustersWritten(ctx, direct, "second", 1); err != nil {
		return err
	}
	after, transitions, err := holder(ctx, direct)
	if err != nil || after == leader || transitions == 0 {
		return fmt.Errorf("the lease is held by %s after %s, with %d transitions: %w", after, leader, transitions, err)
	}
	did("the other takes over when the first has stopped")
	placement := object(placements)
	placement.SetNamespace(story)
	placement.SetName("placement")
	if err := direct.Delete(ctx, placement); err != nil {
		return err
	}
	err = untilDid(ctx, "what it wrote for a Decision goes with it", func() error {
		key := client.ObjectKey{Namespace: story, Name: "placement.ocm"}
		err := direct.Get(ctx, key, &corev1.ConfigMap{})
		if err == nil {
			return fmt.Errorf("the ConfigMap %s is there", key)
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	second.stop()
	return <-second.ended
}
