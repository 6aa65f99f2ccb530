// Command judge decides worlds with the reconciler of today's Gardener scheduler, for the differential tests: see package
// frame. Its filters are functions of its package, which are not exported and linked by name.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	schedulerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/scheduler/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	scheduler "github.com/gardener/gardener/pkg/scheduler/controller/shoot"

	"berth.dev/tests/peers/frame"
)

type (
	seeds    = []gardencorev1beta1.Seed
	shoot    = *gardencorev1beta1.Shoot
	strategy = schedulerconfigv1alpha1.CandidateDeterminationStrategy
)

//go:linkname filterUsableSeeds github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterUsableSeeds
func filterUsableSeeds(seeds) (seeds, error)

//go:linkname filterSeedsMatchingLabelSelector github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsMatchingLabelSelector
func filterSeedsMatchingLabelSelector(seeds, *gardencorev1beta1.SeedSelector, string) (seeds, error)

//go:linkname filterSeedsMatchingProviders github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsMatchingProviders
func filterSeedsMatchingProviders(*gardencorev1beta1.CloudProfile, shoot, seeds) (seeds, error)

//go:linkname filterSeedsForZonalShootControlPlanes github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsForZonalShootControlPlanes
func filterSeedsForZonalShootControlPlanes(seeds, shoot) (seeds, error)

//go:linkname filterSeedsForZoneSelection github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsForZoneSelection
func filterSeedsForZoneSelection(seeds, shoot) (seeds, error)

//go:linkname filterSeedsForAccessRestrictions github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsForAccessRestrictions
func filterSeedsForAccessRestrictions(seeds, shoot) (seeds, error)

//go:linkname filterSeedsMatchingDomain github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsMatchingDomain
func filterSeedsMatchingDomain(seeds, shoot, string) (seeds, error)

//go:linkname filterSeedsWithDisabledShootReconciliations github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsWithDisabledShootReconciliations
func filterSeedsWithDisabledShootReconciliations(seeds) (seeds, error)

//go:linkname networksAreDisjointed github.com/gardener/gardener/pkg/scheduler/controller/shoot.networksAreDisjointed
func networksAreDisjointed(*gardencorev1beta1.Seed, shoot) (bool, error)

//go:linkname filterCandidates github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterCandidates
func filterCandidates(shoot, []shoot, seeds) (seeds, error)

//go:linkname applyStrategy github.com/gardener/gardener/pkg/scheduler/controller/shoot.applyStrategy
func applyStrategy(logr.Logger, shoot, seeds, strategy, *corev1.ConfigMap) (seeds, error)

// order is that of the filters in a report.
var order = []string{
	"Usable", "Provider", "CloudProfileSelector", "ShootSelector", "Zones", "AccessRestrictions", "DefaultDomain",
	"EmergencyStop", "Taints", "Networks", "Capacity", "Strategy",
}

func main() {
	frame.Judge(judge)
}

// garden is the world, and the client of it.
type garden struct {
	client.Client
	seeds    seeds
	shoots   []shoot
	profiles map[string]*gardencorev1beta1.CloudProfile
	// distances are the ConfigMaps with distances between regions.
	distances []corev1.ConfigMap
	strategy  strategy
	// project is the name of the project of the shoot that is decided.
	project string
}

func (g *garden) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	profile, ok := object.(*gardencorev1beta1.CloudProfile)
	if !ok {
		return fmt.Errorf("no %T was expected to be read", object)
	}
	found, ok := g.profiles[key.Name]
	if !ok {
		return apierrors.NewNotFound(gardencorev1beta1.Resource("cloudprofiles"), key.Name)
	}
	found.DeepCopyInto(profile)
	return nil
}

// List gives seeds in the order of their names: of equally good ones the scheduler takes the first.
func (g *garden) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *gardencorev1beta1.SeedList:
		list.Items = append(seeds{}, g.seeds...)
	case *gardencorev1beta1.ShootList:
		for _, shoot := range g.shoots {
			list.Items = append(list.Items, *shoot)
		}
	case *gardencorev1beta1.ProjectList:
		project := gardencorev1beta1.Project{}
		project.Name = g.project
		list.Items = []gardencorev1beta1.Project{project}
	case *corev1.ConfigMapList:
		list.Items = append([]corev1.ConfigMap{}, g.distances...)
	default:
		return fmt.Errorf("no list of %T was expected", list)
	}
	return nil
}

func read(world *frame.World) (*garden, error) {
	garden := &garden{profiles: map[string]*gardencorev1beta1.CloudProfile{}}
	var settings struct {
		Schedulers struct {
			Shoot struct {
				Strategy strategy `json:"candidateDeterminationStrategy"`
			} `json:"shoot"`
		} `json:"schedulers"`
	}
	if err := json.Unmarshal(world.Configuration, &settings); err != nil {
		return nil, err
	}
	garden.strategy = settings.Schedulers.Shoot.Strategy
	if garden.strategy == "" {
		garden.strategy = schedulerconfigv1alpha1.SameRegion
	}
	for _, text := range world.Objects {
		var kind struct{ Kind string }
		if err := json.Unmarshal(text, &kind); err != nil {
			return nil, err
		}
		var err error
		switch kind.Kind {
		case "Seed":
			seed := &gardencorev1beta1.Seed{}
			err = json.Unmarshal(text, seed)
			gardencorev1beta1.SetObjectDefaults_Seed(seed)
			garden.seeds = append(garden.seeds, *seed)
		case "Shoot":
			shoot := &gardencorev1beta1.Shoot{}
			err = json.Unmarshal(text, shoot)
			gardencorev1beta1.SetObjectDefaults_Shoot(shoot)
			garden.shoots = append(garden.shoots, shoot)
		case "CloudProfile":
			profile := &gardencorev1beta1.CloudProfile{}
			err = json.Unmarshal(text, profile)
			garden.profiles[profile.Name] = profile
		case "ConfigMap":
			distances := corev1.ConfigMap{}
			err = json.Unmarshal(text, &distances)
			garden.distances = append(garden.distances, distances)
		default:
			err = fmt.Errorf("no %s was expected", kind.Kind)
		}
		if err != nil {
			return nil, err
		}
	}
	return garden, nil
}

func judge(world *frame.World) (frame.Verdicts, error) {
	garden, err := read(world)
	if err != nil {
		return nil, err
	}
	verdicts := frame.Verdicts{}
	for _, shoot := range garden.shoots {
		if shoot.Spec.SeedName == nil && shoot.DeletionTimestamp == nil {
			verdicts[shoot.Namespace+"/"+shoot.Name] = garden.decide(shoot)
		}
	}
	return verdicts, nil
}

func (g *garden) decide(shoot shoot) *frame.Verdict {
	verdict := frame.NewVerdict()
	profile, ok := g.profiles[*shoot.Spec.CloudProfileName]
	if !ok {
		verdict.Problem = "Invalid"
		return verdict
	}
	g.project = strings.TrimPrefix(shoot.Namespace, "garden-")
	reconciler := &scheduler.Reconciler{
		Client:          g,
		Config:          &schedulerconfigv1alpha1.ShootSchedulerConfiguration{Strategy: g.strategy},
		GardenNamespace: "garden",
	}
	seed, err := reconciler.DetermineSeed(context.Background(), logr.Discard(), shoot.DeepCopy())
	if err == nil && seed != nil {
		verdict.Picked = append(verdict.Picked, seed.Name)
	}
	for _, seed := range g.seeds {
		g.refuse(verdict, profile, shoot, seed)
	}
	g.compare(verdict, profile, shoot)
	var left seeds
	for _, seed := range g.seeds {
		if len(verdict.Refused[seed.Name]) == 0 {
			left = append(left, seed)
		}
	}
	g.nearest(verdict, shoot, left, g.distancesOf(profile.Name))
	for _, filters := range verdict.Refused {
		slices.SortFunc(filters, func(one, other string) int {
			return slices.Index(order, one) - slices.Index(order, other)
		})
	}
	return verdict
}

// refuse asks each filter about the seed alone.
func (g *garden) refuse(verdict *frame.Verdict, profile *gardencorev1beta1.CloudProfile, shoot shoot, seed gardencorev1beta1.Seed) {
	alone := func() seeds { return seeds{seed} }
	passes := func(filter string, left seeds, _ error) {
		if len(left) == 0 {
			verdict.Refuse(seed.Name, filter)
		}
	}
	left, err := filterUsableSeeds(alone())
	passes("Usable", left, err)
	left, err = filterSeedsMatchingProviders(profile, shoot, alone())
	passes("Provider", left, err)
	left, err = filterSeedsMatchingLabelSelector(alone(), profile.Spec.SeedSelector, "")
	passes("CloudProfileSelector", left, err)
	left, err = filterSeedsMatchingLabelSelector(alone(), shoot.Spec.SeedSelector, "")
	passes("ShootSelector", left, err)
	left, err = filterSeedsForZonalShootControlPlanes(alone(), shoot)
	if len(left) > 0 {
		left, err = filterSeedsForZoneSelection(left, shoot)
	}
	passes("Zones", left, err)
	left, err = filterSeedsForAccessRestrictions(alone(), shoot)
	passes("AccessRestrictions", left, err)
	left, err = filterSeedsWithDisabledShootReconciliations(alone())
	passes("EmergencyStop", left, err)
	if !v1beta1helper.TaintsAreTolerated(seed.Spec.Taints, shoot.Spec.Tolerations) {
		verdict.Refuse(seed.Name, "Taints")
	}
	if disjointed, _ := networksAreDisjointed(&seed, shoot); !disjointed {
		verdict.Refuse(seed.Name, "Networks")
	}
	left, err = g.withRoom(shoot, seed)
	passes("Capacity", left, err)
	if !g.byDistance(shoot) {
		left, err = applyStrategy(logr.Discard(), shoot, alone(), g.strategy, nil)
		passes("Strategy", left, err)
	}
}

// compare asks the filters that look at all seeds that are left: in the scheduler's own order.
func (g *garden) compare(verdict *frame.Verdict, profile *gardencorev1beta1.CloudProfile, shoot shoot) {
	left := append(seeds{}, g.seeds...)
	narrow := func(kept seeds, err error) bool {
		left = kept
		return err == nil && len(kept) > 0
	}
	refuse := func(filter string, kept seeds) {
		names := map[string]bool{}
		for _, seed := range kept {
			names[seed.Name] = true
		}
		for _, seed := range left {
			if !names[seed.Name] && !slices.Contains(verdict.Refused[seed.Name], filter) {
				verdict.Refuse(seed.Name, filter)
			}
		}
	}
	if !narrow(filterUsableSeeds(left)) ||
		!narrow(filterSeedsMatchingLabelSelector(left, profile.Spec.SeedSelector, "")) ||
		!narrow(filterSeedsMatchingLabelSelector(left, shoot.Spec.SeedSelector, "")) ||
		!narrow(filterSeedsMatchingProviders(profile, shoot, left)) ||
		!narrow(filterSeedsForZonalShootControlPlanes(left, shoot)) {
		return
	}
	kept, err := filterSeedsForZoneSelection(left, shoot)
	refuse("Zones", kept)
	if !narrow(kept, err) || !narrow(filterSeedsForAccessRestrictions(left, shoot)) {
		return
	}
	kept, _ = filterSeedsMatchingDomain(left, shoot, g.project)
	refuse("DefaultDomain", kept)
}

// withRoom asks for capacity alone: of the filters in filterCandidates networks and taints have nothing to refuse.
func (g *garden) withRoom(shoot shoot, seed gardencorev1beta1.Seed) (seeds, error) {
	bare := shoot.DeepCopy()
	bare.Spec.Networking = nil
	untainted := *seed.DeepCopy()
	untainted.Spec.Taints = nil
	return filterCandidates(bare, g.shoots, seeds{untainted})
}

// byDistance says whether the strategy compares the seeds that are left.
func (g *garden) byDistance(shoot shoot) bool {
	testing := shoot.Spec.Purpose != nil && *shoot.Spec.Purpose == gardencorev1beta1.ShootPurposeTesting
	return !testing && g.strategy == schedulerconfigv1alpha1.MinimalDistance
}

// distancesOf is the ConfigMap with the distances for shoots of a profile.
func (g *garden) distancesOf(profile string) *corev1.ConfigMap {
	for place, distances := range g.distances {
		profiles := strings.Split(distances.Annotations["scheduling.gardener.cloud/cloudprofiles"], ",")
		for _, name := range profiles {
			if strings.TrimSpace(name) == profile {
				return &g.distances[place]
			}
		}
	}
	return nil
}

// nearest asks for the seeds that are nearest among those that are left, by distances where there are some.
func (g *garden) nearest(verdict *frame.Verdict, shoot shoot, left seeds, distances *corev1.ConfigMap) {
	if !g.byDistance(shoot) || len(left) == 0 {
		return
	}
	near, _ := applyStrategy(logr.Discard(), shoot, append(seeds{}, left...), g.strategy, distances)
	names := map[string]bool{}
	for _, seed := range near {
		names[seed.Name] = true
	}
	for _, seed := range left {
		if !names[seed.Name] {
			verdict.Refuse(seed.Name, "Strategy")
		}
	}
}
