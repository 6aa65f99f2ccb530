package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// trial is the test of one rule, with a workload of its own.
type trial struct {
	ctx       context.Context
	client    dynamic.Interface
	namespace string
	adapter   adapter
	patience  time.Duration
	quiet     time.Duration
	workload  string
	// selector finds the slices; it is known once something was decided.
	selector string
	observer *observer
}

// of tests rule, and ends the placement whatever comes out.
func (t *trial) of(rule rule) error {
	err := rule.test(t)
	if ended := t.adapter.end(t.workload); err == nil && ended != nil && !errors.Is(ended, errUnsupported) {
		return ended
	}
	return err
}

// decide has clusters chosen, and waits until a consumer sees exactly them, each once. Clusters that were chosen before and
// stay chosen must be seen all the while.
func (t *trial) decide(clusters []cluster) error {
	if t.observer != nil {
		var staying []cluster
		for _, one := range t.observer.chosen() {
			if slices.Contains(clusters, one) {
				staying = append(staying, one)
			}
		}
		t.observer.expect(staying)
	}
	selector, err := t.adapter.decide(t.workload, clusters)
	if err != nil {
		return err
	}
	if t.observer == nil {
		t.selector, t.observer = selector, newObserver()
		go t.follow(t.ctx, selector, t.observer)
	}
	return t.sees(clusters)
}

// sees waits until the decision is these clusters.
func (t *trial) sees(clusters []cluster) error {
	wanted := sorted(clusters)
	return t.until(func() error {
		if seen := t.observer.chosen(); !slices.Equal(seen, wanted) {
			return fmt.Errorf("%d clusters were decided, and consumers see %d: %v", len(wanted), len(seen), difference(wanted, seen))
		}
		return nil
	})
}

func difference(wanted, seen []cluster) string {
	for _, one := range wanted {
		if !slices.Contains(seen, one) {
			return one.String() + " is missing"
		}
	}
	for _, one := range seen {
		if !slices.Contains(wanted, one) {
			return one.String() + " is not decided"
		}
	}
	return "one is there twice"
}

// until asks again and again, until there is nothing to complain of.
func (t *trial) until(ask func() error) error {
	deadline := time.Now().Add(t.patience)
	for {
		err := ask()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-t.ctx.Done():
			return t.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// follow lists and watches as informers do, and tells observer of every change, one by one.
func (t *trial) follow(ctx context.Context, selector string, observer *observer) {
	for ctx.Err() == nil {
		if err := t.round(ctx, selector, observer); err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// round is one list and the watch that begins there. A list that fails is no list: nothing is gone for that.
func (t *trial) round(ctx context.Context, selector string, observer *observer) error {
	options := metav1.ListOptions{LabelSelector: selector}
	of := t.client.Resource(decisions).Namespace(t.namespace)
	listed, err := of.List(ctx, options)
	if err != nil {
		return err
	}
	var found []slice
	var wrong []string
	for index := range listed.Items {
		one, problems := read(&listed.Items[index])
		found, wrong = append(found, one), append(wrong, problems...)
	}
	observer.replace(found, wrong)
	options.ResourceVersion = listed.GetResourceVersion()
	options.AllowWatchBookmarks = true
	events, err := of.Watch(ctx, options)
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, isObject := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error || !isObject:
			return errors.New("the watch is over")
		case event.Type == watch.Bookmark:
		case event.Type == watch.Deleted:
			observer.gone(object.GetName())
		default:
			one, wrong := read(object)
			observer.put(one, wrong)
		}
	}
	return errors.New("the watch has ended")
}
