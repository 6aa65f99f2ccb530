package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func named(name, version string, clusters ...string) slice {
	one := slice{name: name, version: version}
	for _, cluster := range clusters {
		one.clusters = append(one.clusters, of(cluster))
	}
	return one
}

func of(name string) cluster { return cluster{"ns", name} }

// A producer that rewrites slices one by one, and takes a cluster out before it puts it in again, is found out.
func TestAClusterThatIsBrieflyInNoSliceIsSeen(t *testing.T) {
	observer := newObserver()
	observer.put(named("d-0", "1", "a", "b"), nil)
	observer.put(named("d-1", "2", "c"), nil)
	observer.expect([]cluster{of("a"), of("b"), of("c")})
	observer.put(named("d-0", "3", "a"), nil)
	observer.put(named("d-1", "4", "b", "c"), nil)
	err := observer.complaints(missed)
	if err == nil || !strings.Contains(err.Error(), "ns/b") {
		t.Fatalf("b was in no slice: %v", err)
	}
	if observer.complaints(moved) != nil {
		t.Fatal("what was gone did not move, it came anew")
	}
}

// One that adds before it removes is not, but the cluster has moved.
func TestAClusterThatIsAddedBeforeItIsRemovedIsNeverMissing(t *testing.T) {
	observer := newObserver()
	observer.put(named("d-0", "1", "a", "b"), nil)
	observer.expect([]cluster{of("a"), of("b")})
	observer.put(named("d-1", "2", "b"), nil)
	observer.put(named("d-0", "3", "a"), nil)
	if err := observer.complaints(missed); err != nil {
		t.Fatal(err)
	}
	if observer.complaints(moved) == nil {
		t.Fatal("b has moved")
	}
}

func TestADeletedSliceAndAShorterListTakeClustersAway(t *testing.T) {
	for _, act := range []func(*observer){
		func(observer *observer) { observer.gone("d-0") },
		func(observer *observer) { observer.replace(nil, nil) },
	} {
		observer := newObserver()
		observer.put(named("d-0", "1", "a"), nil)
		observer.expect([]cluster{of("a")})
		act(observer)
		if observer.complaints(missed) == nil {
			t.Fatal("a was in no slice")
		}
	}
}

func TestTheSameVersionAgainIsNoEvent(t *testing.T) {
	observer := newObserver()
	observer.put(named("d-0", "1", "a"), nil)
	observer.put(named("d-0", "1", "a"), nil)
	observer.replace([]slice{named("d-0", "1", "a")}, nil)
	if events := observer.count(); events != 1 {
		t.Fatalf("%d events", events)
	}
}

func TestWhatTheAPIDoesNotAllowIsTold(t *testing.T) {
	entries := make([]any, most+1)
	for index := range entries {
		entries[index] = map[string]any{"clusterProfileRef": map[string]any{"namespace": "ns"}}
	}
	_, wrong := read(&unstructured.Unstructured{Object: map[string]any{
		"metadata":  map[string]any{"name": "d", "labels": map[string]any{"multicluster.x-k8s.io/decision-index": "-1"}},
		"decisions": entries, "status": map[string]any{},
	}})
	told := strings.Join(wrong, "\n")
	for _, word := range []string{"no field status", "more than 100", "decision-index", "clusterProfileRef.name"} {
		if !strings.Contains(told, word) {
			t.Errorf("%s is not in %s", word, told)
		}
	}
	if _, wrong := read(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "d"}}}); len(wrong) != 1 {
		t.Errorf("decisions is required: %v", wrong)
	}
}
