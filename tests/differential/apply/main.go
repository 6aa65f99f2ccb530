// The reference for berth-apply: plays sequences of writes on the field manager of k8s.io/apimachinery, and says after each
// what the object is and who owns it.
//
// One sequence a line on standard input, its outcome a line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Sequence is a kind and what is done to one object of it.
type Sequence struct {
	Schema      map[string]any            `json:"schema"`
	Definitions map[string]map[string]any `json:"definitions"`
	Versions    []string                  `json:"versions"`
	Steps       []Step                    `json:"steps"`
}

// Step is one write.
type Step struct {
	Operation   string         `json:"operation"`
	Manager     string         `json:"manager"`
	Subresource string         `json:"subresource"`
	Version     string         `json:"version"`
	Force       bool           `json:"force"`
	Object      map[string]any `json:"object"`
	Time        int64          `json:"time"`
}

// Outcome is the object after a step, or why the step was refused.
type Outcome struct {
	Error  string         `json:"error,omitempty"`
	Object map[string]any `json:"object"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return
		}
		var sequence Sequence
		if err := json.Unmarshal(line, &sequence); err != nil {
			fail(err)
		}
		outcomes, failure := play(sequence)
		if failure != nil {
			fail(failure)
		}
		if err := out.Encode(outcomes); err != nil {
			fail(err)
		}
		if err != nil {
			return
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func play(sequence Sequence) ([]Outcome, error) {
	types, err := types(sequence)
	if err != nil {
		return nil, err
	}
	properties := sequence.Schema["properties"].(map[string]any)
	reference := properties["metadata"].(map[string]any)["$ref"].(string)
	properties["metadata"] = sequence.Definitions[path.Base(reference)]
	kind := kind{sequence.Schema, sequence.Versions}
	var live *unstructured.Unstructured
	var outcomes []Outcome
	for _, step := range sequence.Steps {
		next, err := write(kind, types, live, step)
		outcome := Outcome{}
		if err != nil {
			outcome.Error = err.Error()
		} else {
			live = next
			stamp(live, step.Time)
		}
		if live != nil {
			outcome.Object = live.DeepCopy().Object
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// stamp replaces the times that the step has set, by the clock, with the step's own.
func stamp(object *unstructured.Unstructured, seconds int64) {
	entries := object.GetManagedFields()
	for index, entry := range entries {
		if entry.Time != nil && entry.Time.Year() > 2000 {
			entries[index].Time = &metav1.Time{Time: time.Unix(seconds, 0).UTC()}
		}
	}
	if entries != nil {
		object.SetManagedFields(entries)
	}
}

func types(sequence Sequence) (managedfields.TypeConverter, error) {
	definitions := map[string]*spec.Schema{}
	all := map[string]any{}
	for name, definition := range sequence.Definitions {
		all[name] = definition
	}
	versions := []any{}
	for _, version := range sequence.Versions {
		gv, _ := schema.ParseGroupVersion(version)
		versions = append(versions, map[string]any{"group": gv.Group, "version": gv.Version, "kind": "Widget"})
	}
	sequence.Schema["x-kubernetes-group-version-kind"] = versions
	all["dev.example.Widget"] = sequence.Schema
	for name, definition := range all {
		text, err := json.Marshal(definition)
		if err != nil {
			return nil, err
		}
		read := &spec.Schema{}
		if err := json.Unmarshal(text, read); err != nil {
			return nil, err
		}
		definitions[name] = read
	}
	return managedfields.NewTypeConverter(definitions, false)
}

func write(kind kind, types managedfields.TypeConverter, live *unstructured.Unstructured, step Step) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(step.Object)}
	if step.Operation == "seed" {
		return object, nil
	}
	gv, err := schema.ParseGroupVersion(step.Version)
	if err != nil {
		return nil, err
	}
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if step.Subresource == "status" {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, version := range kind.versions {
		filters[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(reset)
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(types, kind, kind, kind, gv.WithKind("Widget"), gv, step.Subresource, filters)
	if err != nil {
		return nil, err
	}
	old := live
	if old == nil {
		old = &unstructured.Unstructured{Object: map[string]any{"apiVersion": step.Version, "kind": "Widget"}}
	}
	old = old.DeepCopy()
	old.SetAPIVersion(step.Version)
	var next runtime.Object
	if step.Operation == "apply" {
		next, err = manager.Apply(old.DeepCopy(), object, step.Manager, step.Force)
	} else {
		kind.defaulted(object.Object)
		next, err = manager.Update(old.DeepCopy(), object, step.Manager)
	}
	if err != nil {
		return nil, err
	}
	outcome := next.(*unstructured.Unstructured)
	kind.tidy(outcome)
	keep(old.Object, outcome.Object, step.Subresource)
	if live == nil {
		outcome.SetUID("u1")
	}
	return outcome, nil
}

// keep resets what the write cannot change.
func keep(old, new map[string]any, subresource string) {
	if subresource != "status" {
		reset(old, new, "status")
		return
	}
	for name := range new {
		if name != "status" && name != "metadata" {
			reset(old, new, name)
		}
	}
	for name := range old {
		if name != "status" && name != "metadata" {
			reset(old, new, name)
		}
	}
	entries := fieldOf(new, "metadata")["managedFields"]
	reset(old, new, "metadata")
	metadata := map[string]any{}
	for name, value := range fieldOf(new, "metadata") {
		metadata[name] = value
	}
	if metadata["managedFields"] = entries; entries == nil {
		delete(metadata, "managedFields")
	}
	if len(metadata) > 0 {
		new["metadata"] = metadata
	}
}

func fieldOf(object map[string]any, name string) map[string]any {
	field, _ := object[name].(map[string]any)
	return field
}

func reset(old, new map[string]any, name string) {
	if value, ok := old[name]; ok {
		new[name] = value
	} else {
		delete(new, name)
	}
}
