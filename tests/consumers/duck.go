package main

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// duck prints the parameters that Argo CD's clusterDecisionResource makes of a decision, one line for each cluster. It goes by
// that generator's rules: by name, in Argo CD's own namespace; no object is an error; a status without the list is one too; an
// item is matched by the text of its match key; its keys become parameters as they print.
func duck(ctx context.Context, config *rest.Config, namespace, name string) error {
	const statusListKey, matchKey = "decisions", "clusterName"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	decisions := schema.GroupVersionResource{Group: "scheduling.berth.dev", Version: "v1alpha1", Resource: "decisions"}
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	found, err := client.Resource(decisions).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return errors.New("no decision was found, so every Application stays")
	}
	for _, decision := range found.Items {
		status, _ := decision.Object["status"].(map[string]any)
		list, isList := status[statusListKey].([]any)
		if !isList {
			return fmt.Errorf("%s: no list %s in the status, which the generator does not survive", name, statusListKey)
		}
		for _, item := range list {
			cluster, isMap := item.(map[string]any)
			if !isMap {
				return fmt.Errorf("%s: an item is no map: %v", name, item)
			}
			matched, isText := cluster[matchKey].(string)
			if !isText {
				return fmt.Errorf("%s: %s of an item is no text: %v", name, matchKey, item)
			}
			parameters := map[string]string{"name": matched}
			for key, value := range cluster {
				if key == "name" || key == "server" {
					return fmt.Errorf("%s: the key %s of an item takes the place of the cluster's own", name, key)
				}
				parameters[key] = fmt.Sprintf("%v", value)
			}
			if err := say(parameters); err != nil {
				return err
			}
		}
	}
	return nil
}
