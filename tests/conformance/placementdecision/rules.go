package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	must   = "MUST"
	should = "SHOULD"
)

// rule is what KEP-5313 asks of a producer, and how it is seen.
type rule struct {
	name, level, text string
	test              func(*trial) error
}

// large is more than two slices hold.
const large = 2*most + 30

var rules = []rule{
	{"appears", must, "what is decided is seen, and nothing else", func(t *trial) error {
		return t.steps(5, func(all []cluster) [][]cluster { return [][]cluster{all[:3], all[2:], all[1:2]} })
	}},
	{"none", must, "where nothing is decided consumers see no cluster, and none is left over", func(t *trial) error {
		return t.steps(2, func(all []cluster) [][]cluster { return [][]cluster{all, nil, all[:1]} })
	}},
	{"form", must, "every object has decisions, at most 100, each with a reference, and no field that is not the API's", func(t *trial) error {
		if err := t.steps(large, func(all []cluster) [][]cluster { return [][]cluster{all, all[:most]} }); err != nil {
			return err
		}
		return t.observer.complaints(malformed)
	}},
	{"slices", must, "slices of a decision share its decision-key, and have one decision-index each, from 0", sliced},
	{"lookup", must, "each slice is found by its name, and all of them by the label decision-key", looked},
	{"references", must, "every reference is to a ClusterProfile that is there", referred},
	{"growing", must, "while clusters are added, none that stays is ever in no slice", func(t *trial) error {
		return t.keeping(func(all []cluster) [][]cluster {
			return [][]cluster{all[150:160], all[140:], all}
		})
	}},
	{"shrinking", must, "while clusters are taken out, none that stays is ever in no slice", func(t *trial) error {
		return t.keeping(func(all []cluster) [][]cluster {
			return [][]cluster{all, all[most-5:], all[large-2:], all[large-1:]}
		})
	}},
	{"exchanging", must, "while clusters are exchanged for others, none that stays is ever in no slice", func(t *trial) error {
		return t.keeping(func(all []cluster) [][]cluster {
			return [][]cluster{all[:120], all[60:180], append(slices.Clone(all[:10]), all[170:]...), all[5:120]}
		})
	}},
	{"restart", must, "a producer that is killed and started again takes nothing away", restarted},
	{"staying", should, "a cluster keeps its slice as long as it is decided", func(t *trial) error {
		err := t.steps(large, func(all []cluster) [][]cluster {
			return [][]cluster{all[20:], all[100:], all}
		})
		if err != nil {
			return err
		}
		return t.observer.complaints(moved)
	}},
	{"quiet", should, "where nothing changes nothing is written: deciding the same again is no event", quiet},
	{"alone", should, "what is decided for one workload is no event for another", alone},
	{"ended", must, "when a placement ends its slices go", ended},
}

// steps makes a fleet of count clusters and has one set after the other chosen.
func (t *trial) steps(count int, sets func([]cluster) [][]cluster) error {
	all, err := t.adapter.fleet(count)
	if err != nil {
		return err
	}
	for _, set := range sets(all) {
		if err := t.decide(set); err != nil {
			return err
		}
	}
	return nil
}

// keeping has one set after the other chosen of a large fleet, and complains of clusters that were missing on the way.
func (t *trial) keeping(sets func([]cluster) [][]cluster) error {
	if err := t.steps(large, sets); err != nil {
		return err
	}
	return t.observer.complaints(missed)
}

func all(clusters []cluster) [][]cluster { return [][]cluster{clusters} }

func sliced(t *trial) error {
	if err := t.steps(large, all); err != nil {
		return err
	}
	known := t.observer.known()
	if len(known) < 3 {
		return fmt.Errorf("%d clusters are in %d slices", large, len(known))
	}
	indices := map[int]bool{}
	for _, one := range known {
		index, err := strconv.Atoi(one.index)
		switch {
		case one.key == "" || one.key != known[0].key:
			return fmt.Errorf("%s has the decision-key %q, %s has %q", one.name, one.key, known[0].name, known[0].key)
		case err != nil || indices[index]:
			return fmt.Errorf("%s has the decision-index %q, which is none or another slice's", one.name, one.index)
		case one.scheduler != known[0].scheduler:
			return fmt.Errorf("%s is of scheduler %q, %s of %q", one.name, one.scheduler, known[0].name, known[0].scheduler)
		}
		indices[index] = true
	}
	for index := range len(known) {
		if !indices[index] {
			return fmt.Errorf("of %d new slices none has the decision-index %d", len(known), index)
		}
	}
	return nil
}

func looked(t *trial) error {
	if err := t.steps(large, all); err != nil {
		return err
	}
	of := t.client.Resource(decisions).Namespace(t.namespace)
	known := t.observer.known()
	for _, one := range known {
		if _, err := of.Get(t.ctx, one.name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	selector := "multicluster.x-k8s.io/decision-key=" + known[0].key
	found, err := of.List(t.ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	if len(found.Items) != len(known) {
		return fmt.Errorf("%d slices are found by %s, and %d are there", len(found.Items), selector, len(known))
	}
	return nil
}

func referred(t *trial) error {
	clusters, err := t.adapter.fleet(20)
	if err != nil {
		return err
	}
	for _, set := range [][]cluster{clusters[:5], clusters, clusters[15:]} {
		if err := t.decide(set); err != nil {
			return err
		}
		for _, one := range t.observer.chosen() {
			_, err := t.client.Resource(profiles).Namespace(one.namespace).Get(t.ctx, one.name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("there is no ClusterProfile %s", one)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func restarted(t *trial) error {
	clusters, err := t.adapter.fleet(large)
	if err != nil {
		return err
	}
	if err := t.decide(clusters[:150]); err != nil {
		return err
	}
	t.observer.expect(clusters[:150])
	if err := t.adapter.restart(); err != nil {
		return err
	}
	// What is decided next shows that the producer is back.
	if err := t.decide(clusters); err != nil {
		return err
	}
	return t.observer.complaints(missed)
}

// still waits a while, in which the observer may not be told anything.
func (t *trial) still(observer *observer, after func() error) error {
	before := observer.count()
	if err := after(); err != nil {
		return err
	}
	select {
	case <-t.ctx.Done():
	case <-time.After(t.quiet):
	}
	if events := observer.count() - before; events > 0 {
		return fmt.Errorf("%d events came for nothing", events)
	}
	return nil
}

func quiet(t *trial) error {
	clusters, err := t.adapter.fleet(20)
	if err != nil {
		return err
	}
	if err := t.decide(clusters); err != nil {
		return err
	}
	return t.still(t.observer, func() error { return t.decide(clusters) })
}

func alone(t *trial) error {
	clusters, err := t.adapter.fleet(20)
	if err != nil {
		return err
	}
	if err := t.decide(clusters[:10]); err != nil {
		return err
	}
	other := *t
	other.workload, other.observer = t.workload+"-other", nil
	return t.still(t.observer, func() error {
		err := other.decide(clusters[5:])
		return errors.Join(err, other.adapter.end(other.workload))
	})
}

func ended(t *trial) error {
	if err := t.steps(large, all); err != nil {
		return err
	}
	if err := t.adapter.end(t.workload); err != nil {
		return err
	}
	return t.until(func() error {
		if left := t.observer.known(); len(left) > 0 {
			return fmt.Errorf("%s is still there", left[0].name)
		}
		return nil
	})
}
