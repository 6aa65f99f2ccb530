// Command judge decides worlds with the scheduler that Gardener had when its documentation was written that Berth follows
// (v1.8.0), for the differential tests: see package frame. The scheduler and each of its filters are the functions of its own
// package, which are not exported and linked by name.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/labels"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardencorev1beta1helper "github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	listers "github.com/gardener/gardener/pkg/client/core/listers/core/v1beta1"
	"github.com/gardener/gardener/pkg/scheduler/apis/config"
	_ "github.com/gardener/gardener/pkg/scheduler/controller/shoot"

	"berth.dev/tests/peers/frame"
)

type (
	seeds = []*gardencorev1beta1.Seed
	shoot = *gardencorev1beta1.Shoot
)

//go:linkname determineSeed github.com/gardener/gardener/pkg/scheduler/controller/shoot.determineSeed
func determineSeed(shoot, listers.SeedLister, listers.ShootLister, listers.CloudProfileLister,
	config.CandidateDeterminationStrategy) (*gardencorev1beta1.Seed, error)

//go:linkname filterUsableSeeds github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterUsableSeeds
func filterUsableSeeds(seeds) (seeds, error)

//go:linkname filterSeedsMatchingLabelSelector github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsMatchingLabelSelector
func filterSeedsMatchingLabelSelector(seeds, *gardencorev1beta1.SeedSelector, string) (seeds, error)

//go:linkname filterSeedsMatchingProviders github.com/gardener/gardener/pkg/scheduler/controller/shoot.filterSeedsMatchingProviders
func filterSeedsMatchingProviders(*gardencorev1beta1.CloudProfile, shoot, seeds) (seeds, error)

//go:linkname networksAreDisjointed github.com/gardener/gardener/pkg/scheduler/controller/shoot.networksAreDisjointed
func networksAreDisjointed(*gardencorev1beta1.Seed, shoot) (bool, error)

//go:linkname ignoreSeedDueToDNSConfiguration github.com/gardener/gardener/pkg/scheduler/controller/shoot.ignoreSeedDueToDNSConfiguration
func ignoreSeedDueToDNSConfiguration(*gardencorev1beta1.Seed, shoot) bool

//go:linkname applyStrategy github.com/gardener/gardener/pkg/scheduler/controller/shoot.applyStrategy
func applyStrategy(shoot, seeds, config.CandidateDeterminationStrategy) (seeds, error)

func main() {
	frame.Judge(judge)
}

// garden is the world.
type garden struct {
	seeds    seeds
	shoots   []shoot
	profiles map[string]*gardencorev1beta1.CloudProfile
	strategy config.CandidateDeterminationStrategy
}

// Listers over it; seeds are in the order of their names.
type (
	seedLister struct {
		listers.SeedLister
		of *garden
	}
	shootLister struct {
		listers.ShootLister
		of *garden
	}
	profileLister struct {
		listers.CloudProfileLister
		of *garden
	}
)

func (l seedLister) List(labels.Selector) (seeds, error)    { return append(seeds{}, l.of.seeds...), nil }
func (l shootLister) List(labels.Selector) ([]shoot, error) { return l.of.shoots, nil }
func (l profileLister) Get(name string) (*gardencorev1beta1.CloudProfile, error) {
	if profile, ok := l.of.profiles[name]; ok {
		return profile, nil
	}
	return nil, errors.New("there is no such profile")
}

func read(world *frame.World) (*garden, error) {
	garden := &garden{profiles: map[string]*gardencorev1beta1.CloudProfile{}}
	var settings struct {
		Schedulers struct {
			Shoot struct {
				Strategy config.CandidateDeterminationStrategy `json:"candidateDeterminationStrategy"`
			} `json:"shoot"`
		} `json:"schedulers"`
	}
	if err := json.Unmarshal(world.Configuration, &settings); err != nil {
		return nil, err
	}
	garden.strategy = settings.Schedulers.Shoot.Strategy
	if garden.strategy == "" {
		garden.strategy = config.SameRegion
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
			garden.seeds = append(garden.seeds, seed)
		case "Shoot":
			shoot := &gardencorev1beta1.Shoot{}
			err = json.Unmarshal(text, shoot)
			gardencorev1beta1.SetObjectDefaults_Shoot(shoot)
			garden.shoots = append(garden.shoots, shoot)
		case "CloudProfile":
			profile := &gardencorev1beta1.CloudProfile{}
			err = json.Unmarshal(text, profile)
			garden.profiles[profile.Name] = profile
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
	profile, ok := g.profiles[shoot.Spec.CloudProfileName]
	if !ok {
		verdict.Problem = "Invalid"
		return verdict
	}
	seed, err := determineSeed(shoot, seedLister{of: g}, shootLister{of: g}, profileLister{of: g}, g.strategy)
	if err == nil && seed != nil {
		verdict.Picked = append(verdict.Picked, seed.Name)
	}
	var left seeds
	for _, seed := range g.seeds {
		g.refuse(verdict, profile, shoot, seed)
		if len(verdict.Refused[seed.Name]) == 0 {
			left = append(left, seed)
		}
	}
	g.nearest(verdict, shoot, left)
	return verdict
}

// refuse asks each filter about the seed alone.
func (g *garden) refuse(verdict *frame.Verdict, profile *gardencorev1beta1.CloudProfile, shoot shoot, seed *gardencorev1beta1.Seed) {
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
	if !gardencorev1beta1helper.TaintsAreTolerated(seed.Spec.Taints, shoot.Spec.Tolerations) {
		verdict.Refuse(seed.Name, "Taints")
	}
	if ignoreSeedDueToDNSConfiguration(seed, shoot) {
		verdict.Refuse(seed.Name, "DNS")
	}
	if disjointed, _ := networksAreDisjointed(seed, shoot); !disjointed {
		verdict.Refuse(seed.Name, "Networks")
	}
	if !g.byDistance(shoot) {
		left, err = applyStrategy(shoot, alone(), g.strategy)
		passes("Strategy", left, err)
	}
}

// byDistance says whether the strategy compares the seeds that are left.
func (g *garden) byDistance(shoot shoot) bool {
	testing := shoot.Spec.Purpose != nil && *shoot.Spec.Purpose == gardencorev1beta1.ShootPurposeTesting
	return !testing && g.strategy == config.MinimalDistance
}

// nearest asks for the seeds that are nearest among those that are left.
func (g *garden) nearest(verdict *frame.Verdict, shoot shoot, left seeds) {
	if !g.byDistance(shoot) || len(left) == 0 {
		return
	}
	near, _ := applyStrategy(shoot, append(seeds{}, left...), g.strategy)
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
