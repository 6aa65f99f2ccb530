// Command gardener decides with the reconciler of Gardener's scheduler, for the benchmark of schedulers: see package
// frame. Its fleets have the lists clusters (seeds), shoots, profiles and configurations (one, whose spec.gardener is the
// scheduler's own configuration); a decision is one reconciliation of a shoot, from reading it to binding it. What that
// reads comes from memory, as from its cache; what it writes is noted and not kept.
package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	schedulerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/scheduler/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/scheduler/controller/shoot"

	"berth.dev/tests/peers/frame"
)

// namespace is where the shoots are.
const namespace = "garden-bench"

type fleet struct {
	Seeds          []gardencorev1beta1.Seed         `json:"clusters"`
	Shoots         []gardencorev1beta1.Shoot        `json:"shoots"`
	Profiles       []gardencorev1beta1.CloudProfile `json:"profiles"`
	Configurations []configuration                  `json:"configurations"`
}

// configuration is Berth's object around the scheduler's.
type configuration struct {
	Spec struct {
		Gardener schedulerconfigv1alpha1.SchedulerConfiguration `json:"gardener"`
	} `json:"spec"`
}

func main() {
	// Several lines a decision: what is written there is no part of deciding.
	log.SetLogger(logr.Discard())
	frame.Main(open)
}

// original is the reconciler over one fleet.
type original struct {
	reconciler *shoot.Reconciler
	garden     *memory
}

func open(world *fleet) (frame.Scheduler, error) {
	if len(world.Configurations) != 1 {
		return nil, fmt.Errorf("one configuration is expected, not %d", len(world.Configurations))
	}
	settings := world.Configurations[0].Spec.Gardener.Schedulers.Shoot
	if settings == nil {
		return nil, fmt.Errorf("the configuration has no schedulers.shoot")
	}
	garden := &memory{fleet: world, places: map[string]int{}}
	for place := range world.Shoots {
		garden.places[world.Shoots[place].Name] = place
	}
	reconciler := &shoot.Reconciler{
		Client:          garden,
		Config:          settings,
		GardenNamespace: "garden",
		Recorder:        &events.FakeRecorder{},
	}
	return &original{reconciler: reconciler, garden: garden}, nil
}

func (o *original) Prepare(name string) (func() error, error) {
	if _, ok := o.garden.places[name]; !ok {
		return nil, fmt.Errorf("there is no such shoot")
	}
	o.garden.bound, o.garden.refused = nil, false
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	return func() error {
		_, err := o.reconciler.Reconcile(context.Background(), request)
		if o.garden.refused {
			return nil // that no seed is good enough is a decision too
		}
		return err
	}, nil
}

func (o *original) Picked() frame.Picked {
	return frame.Picked{Names: append([]string{}, o.garden.bound...)}
}

// memory is the garden cluster: the objects of the file, one project for the shoots' namespace, no distances between
// regions in ConfigMaps.
type memory struct {
	client.Client
	fleet *fleet
	// places are where the shoots are in the list, by name.
	places map[string]int
	// bound are the seeds that shoots were bound to.
	bound []string
	// refused says that a shoot was told why it is not bound.
	refused bool
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch object := object.(type) {
	case *gardencorev1beta1.Shoot:
		place, ok := m.places[key.Name]
		if !ok || key.Namespace != namespace {
			return apierrors.NewNotFound(gardencorev1beta1.Resource("shoots"), key.Name)
		}
		m.fleet.Shoots[place].DeepCopyInto(object)
		return nil
	case *gardencorev1beta1.CloudProfile:
		for index := range m.fleet.Profiles {
			if m.fleet.Profiles[index].Name == key.Name {
				m.fleet.Profiles[index].DeepCopyInto(object)
				return nil
			}
		}
		return apierrors.NewNotFound(gardencorev1beta1.Resource("cloudprofiles"), key.Name)
	default:
		// Not an error, which the scheduler would take for a reason not to bind.
		panic(fmt.Sprintf("no %T was expected to be read", object))
	}
}

// List gives copies, as a cache does; shallow ones are the least it can do. Seeds are in the order of the file, which is
// by name: of equally good ones the scheduler takes the first, whatever order its cache has.
func (m *memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *gardencorev1beta1.SeedList:
		list.Items = append([]gardencorev1beta1.Seed(nil), m.fleet.Seeds...)
		return nil
	case *gardencorev1beta1.ShootList:
		list.Items = append([]gardencorev1beta1.Shoot(nil), m.fleet.Shoots...)
		return nil
	case *gardencorev1beta1.ProjectList:
		project := gardencorev1beta1.Project{}
		project.Name = "bench"
		list.Items = []gardencorev1beta1.Project{project}
		return nil
	case *corev1.ConfigMapList:
		return nil
	default:
		panic(fmt.Sprintf("no list of %T was expected", list))
	}
}

func (m *memory) SubResource(name string) client.SubResourceClient {
	return &writer{garden: m, subresource: name}
}

func (m *memory) Status() client.SubResourceWriter { return m.SubResource("status") }

// writer takes what the scheduler writes.
type writer struct {
	client.SubResourceClient
	garden      *memory
	subresource string
}

func (w *writer) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	bound, ok := object.(*gardencorev1beta1.Shoot)
	if !ok || w.subresource != "binding" || bound.Spec.SeedName == nil {
		panic(fmt.Sprintf("no update of the %s of %T was expected", w.subresource, object))
	}
	w.garden.bound = append(w.garden.bound, *bound.Spec.SeedName)
	return nil
}

// Patch takes what the scheduler tells a shoot that it does not bind.
func (w *writer) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	if _, ok := object.(*gardencorev1beta1.Shoot); !ok || w.subresource != "status" {
		panic(fmt.Sprintf("no patch of the %s of %T was expected", w.subresource, object))
	}
	w.garden.refused = true
	return nil
}
