package main

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	clientset "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	informers "sigs.k8s.io/cluster-inventory-api/client/informers/externalversions"
)

// changes calls `look` whenever the cache of an informer may have changed, until the time is over.
func changes(ctx context.Context, informer cache.SharedIndexInformer, start func(<-chan struct{}), look func() error) error {
	news := make(chan struct{}, 1)
	ring := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { ring() },
		UpdateFunc: func(any, any) { ring() },
		DeleteFunc: func(any) { ring() },
	})
	if err != nil {
		return err
	}
	start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	for {
		if err := look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
			// What comes together is looked at together, as a work queue does it.
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// follow prints the clusters of one decision, over all its slices, whenever they change, as KEP-5313 has consumers read them:
// by the label decision-key, through an informer.
func follow(ctx context.Context, published clientset.Interface, namespace, key string) error {
	all := informers.NewSharedInformerFactoryWithOptions(published, 0, informers.WithNamespace(namespace))
	decisions := all.Apis().V1alpha1().PlacementDecisions()
	wanted := labels.SelectorFromSet(labels.Set{v1alpha1.DecisionKeyLabel: key})
	var last []string
	first := true
	return changes(ctx, decisions.Informer(), all.Start, func() error {
		found, err := decisions.Lister().PlacementDecisions(namespace).List(wanted)
		if err != nil {
			return err
		}
		clusters := []string{}
		for _, slice := range found {
			for _, decision := range slice.Decisions {
				clusters = append(clusters, decision.ClusterProfileRef.Name)
			}
		}
		slices.Sort(clusters)
		if !first && slices.Equal(clusters, last) {
			return nil
		}
		first, last = false, clusters
		return say(map[string]any{"slices": len(found), "clusters": clusters})
	})
}

// engage prints which clusters a fleet controller works with, whenever that changes. The rule is that of
// multicluster-runtime's provider for ClusterProfiles: a cluster is engaged while its condition ControlPlaneHealthy is True, and
// disengaged when it is not, or when the profile goes. Its key is namespace/name.
func engage(ctx context.Context, published clientset.Interface, namespace string) error {
	all := informers.NewSharedInformerFactoryWithOptions(published, 0, informers.WithNamespace(namespace))
	profiles := all.Apis().V1alpha1().ClusterProfiles()
	engaged := map[string]bool{}
	return changes(ctx, profiles.Informer(), all.Start, func() error {
		found, err := profiles.Lister().ClusterProfiles(namespace).List(labels.Everything())
		if err != nil {
			return err
		}
		now := map[string]bool{}
		for _, profile := range found {
			healthy := meta.IsStatusConditionPresentAndEqual(
				profile.Status.Conditions, v1alpha1.ClusterConditionControlPlaneHealthy, metav1.ConditionTrue)
			if healthy {
				now[profile.Namespace+"/"+profile.Name] = true
			}
		}
		for cluster := range now {
			if !engaged[cluster] {
				if err := say(map[string]string{"engaged": cluster}); err != nil {
					return err
				}
			}
		}
		for cluster := range engaged {
			if !now[cluster] {
				if err := say(map[string]string{"disengaged": cluster}); err != nil {
					return err
				}
			}
		}
		engaged = now
		return nil
	})
}
