package main

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientset "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	informers "sigs.k8s.io/cluster-inventory-api/client/informers/externalversions"
)

// finalizer is that of argoproj-labs' integration of ClusterProfiles with Argo CD.
const finalizer = "argoproj.io/cluster-profile-finalizer"

// errDone ends the loop.
var errDone = errors.New("done")

// hold puts a finalizer on one ClusterProfile, as a consumer does that must tidy up, waits until the profile is to go, and lets
// go of it. All by updates of what the informer showed, which conflict where somebody else has written meanwhile.
func hold(ctx context.Context, published clientset.Interface, namespace, name string) error {
	all := informers.NewSharedInformerFactoryWithOptions(published, 0, informers.WithNamespace(namespace))
	shown := all.Apis().V1alpha1().ClusterProfiles()
	profiles := published.ApisV1alpha1().ClusterProfiles(namespace)
	uid := ""
	err := changes(ctx, shown.Informer(), all.Start, func() error {
		found, err := shown.Lister().ClusterProfiles(namespace).List(labels.Everything())
		if err != nil {
			return err
		}
		for _, profile := range found {
			if profile.Name != name {
				continue
			}
			isHeld := slices.Contains(profile.Finalizers, finalizer)
			wanted := profile.DeepCopy()
			switch {
			case profile.DeletionTimestamp == nil && !isHeld:
				wanted.Finalizers = append(wanted.Finalizers, finalizer)
			case profile.DeletionTimestamp != nil && isHeld:
				if err := say(map[string]string{"leaving": name}); err != nil {
					return err
				}
				wanted.Finalizers = slices.DeleteFunc(wanted.Finalizers, func(held string) bool { return held == finalizer })
			default:
				return nil
			}
			if _, err := profiles.Update(ctx, wanted, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
				// The informer shows it again.
				return nil
			} else if err != nil {
				return err
			}
			if !isHeld {
				uid = string(profile.UID)
				return say(map[string]string{"held": name})
			}
			if string(profile.UID) != uid {
				return errors.New("another profile of that name leaves than the one that was held")
			}
			return errDone
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return say(map[string]string{"released": name})
	}
	return err
}
