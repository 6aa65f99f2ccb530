// Typecheck says what kube-apiserver's type checker has against policies.
//
//	typecheck <INPUT
//
// INPUT is JSON: `kinds`, each with group, version, kind, resource and schema, and `policies`. For each policy it prints
// the list that kube-controller-manager would write as its `status.typeChecking.expressionWarnings`.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type kind struct {
	Group, Version, Kind, Resource string
	Schema                         *spec.Schema
}

type input struct {
	Kinds    []kind
	Policies []*admissionregistration.ValidatingAdmissionPolicy
}

// schemas are found by the names of their kinds.
type schemas map[schema.GroupVersionKind]*spec.Schema

func (s schemas) ResolveSchema(named schema.GroupVersionKind) (*spec.Schema, error) {
	found, ok := s[named]
	if !ok {
		return nil, fmt.Errorf("%v: %w", named, resolver.ErrSchemaNotFound)
	}
	return found, nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	known := schemas{}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, one := range given.Kinds {
		version := schema.GroupVersion{Group: one.Group, Version: one.Version}
		named := version.WithKind(one.Kind)
		known[named] = one.Schema
		resource := version.WithResource(one.Resource)
		mapper.AddSpecific(named, resource, resource, meta.RESTScopeNamespace)
	}
	checker := validating.TypeChecker{SchemaResolver: known, RestMapper: mapper}
	said := make([][]admissionregistration.ExpressionWarning, 0, len(given.Policies))
	for _, policy := range given.Policies {
		said = append(said, checker.Check(policy))
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}
