package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

// observer is a consumer that deploys by one decision: it takes in what it is told, event by event, and keeps a record of
// what would have gone wrong. A cluster that is in no slice is undeployed at once.
type observer struct {
	mutex sync.Mutex
	// slices are what is known, by name.
	slices map[string]slice
	// staying are clusters that were chosen before and are chosen after whatever is going on.
	staying []cluster
	// placed is the slice in which each cluster was first seen.
	placed map[cluster]string
	// events counts the changes that were told.
	events int
	// missed, moved and malformed are what went wrong.
	missed, moved, malformed []string
}

func newObserver() *observer {
	return &observer{slices: map[string]slice{}, placed: map[cluster]string{}}
}

// expect says which clusters must be in some slice from now on.
func (o *observer) expect(staying []cluster) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.staying = staying
}

// put takes in a slice that came or changed.
func (o *observer) put(found slice, wrong []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.slices[found.name].version == found.version && found.version != "" {
		return
	}
	o.malformed = append(o.malformed, wrong...)
	o.slices[found.name] = found
	o.look(found.name + " is " + found.version)
}

// gone takes in that a slice is deleted.
func (o *observer) gone(name string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, known := o.slices[name]; !known {
		return
	}
	delete(o.slices, name)
	o.look(name + " is deleted")
}

// replace takes in a list: what is not in it is gone, in the eyes of a consumer.
func (o *observer) replace(found []slice, wrong []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.malformed = append(o.malformed, wrong...)
	listed := map[string]slice{}
	for _, one := range found {
		listed[one.name] = one
	}
	same := len(listed) == len(o.slices)
	for name, one := range listed {
		same = same && o.slices[name].version == one.version
	}
	if same {
		return
	}
	o.slices = listed
	o.look("a list")
}

// look judges what is known after an event.
func (o *observer) look(event string) {
	o.events++
	shown := map[cluster]string{}
	for name, one := range o.slices {
		for _, cluster := range one.clusters {
			// In two slices at once it is where it was.
			if before := o.placed[cluster]; shown[cluster] == "" || name == before {
				shown[cluster] = name
			}
		}
	}
	for _, cluster := range o.staying {
		if shown[cluster] == "" {
			o.missed = append(o.missed, fmt.Sprintf("after %q %s is in no slice", event, cluster))
		}
	}
	for cluster, name := range shown {
		before := o.placed[cluster]
		if before != "" && before != name {
			o.moved = append(o.moved, fmt.Sprintf("%s moved from %s to %s", cluster, before, name))
		}
		o.placed[cluster] = name
	}
	for cluster := range o.placed {
		if shown[cluster] == "" {
			delete(o.placed, cluster)
		}
	}
}

// chosen are the clusters of all slices, each as often as it is there, in order.
func (o *observer) chosen() []cluster {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var all []cluster
	for _, one := range o.slices {
		all = append(all, one.clusters...)
	}
	return sorted(all)
}

// known are the slices, by name.
func (o *observer) known() []slice {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var all []slice
	for _, one := range o.slices {
		all = append(all, one)
	}
	sort.Slice(all, func(a, b int) bool { return all[a].name < all[b].name })
	return all
}

func (o *observer) count() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.events
}

// complaints are those of one sort, as an error.
func (o *observer) complaints(sort func(*observer) []string) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	all := sort(o)
	if len(all) == 0 {
		return nil
	}
	shown := all[:min(3, len(all))]
	return fmt.Errorf("%s (%d in all)", strings.Join(shown, "; "), len(all))
}

func missed(o *observer) []string    { return o.missed }
func moved(o *observer) []string     { return o.moved }
func malformed(o *observer) []string { return o.malformed }

func sorted(clusters []cluster) []cluster {
	all := slices.Clone(clusters)
	slices.SortFunc(all, func(a, b cluster) int { return strings.Compare(a.String(), b.String()) })
	return all
}
