package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	objectset "github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed placed.yaml
var placed []byte

// applyAll applies the objects, of which each must come to `wanted` but for those in `others`.
func applyAll(
	ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured, wanted ssa.Action, others map[string]ssa.Action,
) error {
	changes, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
	if err != nil {
		return err
	}
	if len(changes.Entries) != len(objects) {
		return fmt.Errorf("%d objects, and told of %v", len(objects), changes)
	}
	for _, entry := range changes.Entries {
		expected := wanted
		if other, ok := others[entry.Subject]; ok {
			expected = other
		}
		if entry.Action != expected {
			return fmt.Errorf("%s in place of %s: %s", entry.Action, expected, entry.Subject)
		}
	}
	return nil
}

// reconcile does as Flux's kustomize-controller does with what is in a repository.
func reconcile(ctx context.Context, config *rest.Config) error {
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	poller := polling.NewStatusPoller(direct, direct.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(direct, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	read := func() ([]*unstructured.Unstructured, error) {
		objects, err := utils.ReadObjects(bytes.NewReader(placed))
		manager.SetOwnerLabels(objects, "app", "flux-system")
		return objects, err
	}
	objects, err := read()
	if err != nil {
		return err
	}
	if err := applyAll(ctx, manager, objects, ssa.CreatedAction, nil); err != nil {
		return err
	}
	did("what was not there is told to be created, whatever is placed")
	if err := manager.WaitForSetWithContext(ctx, objectset.UnstructuredSetToObjMetadataSet(objects), ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: time.Minute}); err != nil {
		return err
	}
	did("all of it becomes ready")
	if objects, err = read(); err != nil {
		return err
	}
	if err := applyAll(ctx, manager, objects, ssa.UnchangedAction, nil); err != nil {
		return err
	}
	did("applied again, all is unchanged, decisions included")
	if objects, err = read(); err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Placement" {
			if err := unstructured.SetNestedField(object.Object, int64(2), "spec", "numberOfClusters"); err != nil {
				return err
			}
		}
	}
	others := map[string]ssa.Action{"Placement/flux-app/app": ssa.ConfiguredAction}
	if err := applyAll(ctx, manager, objects, ssa.UnchangedAction, others); err != nil {
		return err
	}
	did("of a change one object is configured")
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = manager.GetOwnerLabels("app", "flux-system")
	changes, err := manager.DeleteAll(ctx, objects, options)
	if err != nil {
		return err
	}
	for _, entry := range changes.Entries {
		if entry.Action != ssa.DeletedAction {
			return fmt.Errorf("%s is %s", entry.Subject, entry.Action)
		}
	}
	if err := manager.WaitForTermination(objects, ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: time.Minute}); err != nil {
		return err
	}
	did("pruned, all of it goes")
	return nil
}
