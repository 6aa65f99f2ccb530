package main

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
)

// most is how many decisions a slice may have.
const most = 100

// slice is a PlacementDecision as a consumer reads it.
type slice struct {
	name, key, index, scheduler, version string
	clusters                             []cluster
}

// read takes an object apart, with everything that the API does not allow in it.
func read(object *unstructured.Unstructured) (slice, []string) {
	labels := object.GetLabels()
	scheduler, _, _ := unstructured.NestedString(object.Object, "schedulerName")
	found := slice{
		name: object.GetName(), version: object.GetResourceVersion(), scheduler: scheduler,
		key: labels[v1alpha1.DecisionKeyLabel], index: labels[v1alpha1.DecisionIndexLabel],
	}
	var wrong []string
	complain := func(format string, values ...any) {
		wrong = append(wrong, object.GetName()+": "+fmt.Sprintf(format, values...))
	}
	for field := range object.Object {
		switch field {
		case "apiVersion", "kind", "metadata", "decisions", "schedulerName":
		default:
			complain("there is no field %s", field)
		}
	}
	list, isThere, err := unstructured.NestedSlice(object.Object, "decisions")
	if err != nil || !isThere {
		complain("decisions is required, and a list (empty where nothing is decided)")
	}
	if len(list) > most {
		complain("%d decisions are more than %d", len(list), most)
	}
	if number, err := strconv.Atoi(found.index); found.index != "" && (err != nil || number < 0) {
		complain("decision-index %q is not a number from 0", found.index)
	}
	for _, entry := range list {
		decision, _ := entry.(map[string]any)
		reference, _, _ := unstructured.NestedStringMap(decision, "clusterProfileRef")
		if reference["name"] == "" {
			complain("a decision without clusterProfileRef.name: %v", entry)
			continue
		}
		namespace := reference["namespace"]
		if namespace == "" {
			namespace = object.GetNamespace()
		}
		found.clusters = append(found.clusters, cluster{namespace, reference["name"]})
	}
	return found, wrong
}
