package main

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// kind is what the field manager asks for beside types: conversion, defaults, empty objects. Its versions are of one shape.
type kind struct {
	schema   map[string]any
	versions []string
}

func (k kind) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	version := gv.(schema.GroupVersion)
	for _, served := range k.versions {
		if served == version.String() {
			out := in.DeepCopyObject().(*unstructured.Unstructured)
			out.SetAPIVersion(served)
			return out, nil
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind("test", version.WithKind("Widget"))
}

func (k kind) Convert(in, out, context interface{}) error { panic("not called") }

func (k kind) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	panic("not called")
}

func (k kind) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{Object: map[string]any{}}, nil
}

func (k kind) Default(in runtime.Object) {
	k.defaulted(in.(*unstructured.Unstructured).Object)
}

func (k kind) defaulted(object map[string]any) { fill(k.schema, object) }

// fill sets the defaults below what is present.
func fill(of map[string]any, value any) {
	properties, _ := of["properties"].(map[string]any)
	switch value := value.(type) {
	case map[string]any:
		for name, property := range properties {
			of := property.(map[string]any)
			if value[name] == nil && of["default"] != nil && of["nullable"] != true {
				value[name] = runtime.DeepCopyJSONValue(of["default"])
			} else if _, present := value[name]; !present && of["default"] != nil {
				value[name] = runtime.DeepCopyJSONValue(of["default"])
			}
			if inner, present := value[name]; present {
				fill(of, inner)
			}
		}
		if of, ok := of["additionalProperties"].(map[string]any); ok {
			for _, inner := range value {
				fill(of, inner)
			}
		}
	case []any:
		if of, ok := of["items"].(map[string]any); ok {
			for _, inner := range value {
				fill(of, inner)
			}
		}
	}
}

// tidy does to what pruning has emptied what this server does: pruning leaves null, which is invalid in most places. It goes,
// or stays as the empty map or list if somebody owns it.
func (k kind) tidy(object *unstructured.Unstructured) {
	owned := fieldpath.NewSet()
	for _, entry := range object.GetManagedFields() {
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err == nil {
			owned = owned.Union(set)
		}
	}
	tidy(k.schema, object.Object, owned)
	k.defaulted(object.Object)
}

func tidy(of map[string]any, at any, owned *fieldpath.Set) {
	properties, _ := of["properties"].(map[string]any)
	switch container := at.(type) {
	case map[string]any:
		for name, inner := range container {
			inside, ok := properties[name].(map[string]any)
			if !ok {
				inside, _ = of["additionalProperties"].(map[string]any)
			}
			step := fieldpath.PathElement{FieldName: &name}
			kind := inside["type"]
			if kind == nil {
				// What no schema describes: of that, only maps are pruned from within.
				kind = "object"
			}
			if inner == nil && inside["nullable"] != true && (kind == "object" || kind == "array") {
				switch {
				case !owned.Members.Has(step):
					delete(container, name)
				case kind == "object":
					container[name] = map[string]any{}
				default:
					container[name] = []any{}
				}
				continue
			}
			tidy(inside, inner, owned.WithPrefix(step))
		}
	case []any:
		inside, ok := of["items"].(map[string]any)
		if !ok {
			return
		}
		for _, inner := range container {
			if item, ok := inner.(map[string]any); ok {
				tidy(inside, item, owned.WithPrefix(element(of, inside, item)))
			}
		}
	}
}

// element is what tells the item apart in its list.
func element(of, items, item map[string]any) fieldpath.PathElement {
	names, _ := of["x-kubernetes-list-map-keys"].([]any)
	if name, ok := of["x-kubernetes-patch-merge-key"]; ok {
		names = []any{name}
	}
	fields := value.FieldList{}
	for _, name := range names {
		key, ok := item[name.(string)]
		if !ok {
			key = items["properties"].(map[string]any)[name.(string)].(map[string]any)["default"]
		}
		fields = append(fields, value.Field{Name: name.(string), Value: value.NewValueInterface(key)})
	}
	fields.Sort()
	return fieldpath.PathElement{Key: &fields}
}
