package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

// reach makes a client of a cluster from its ClusterProfile, as the SIG's access library does it, and asks the cluster.
func reach(ctx context.Context, published clientset.Interface, namespace, name, providers string) error {
	configured, err := access.NewFromFile(providers)
	if err != nil {
		return err
	}
	profile, err := published.ApisV1alpha1().ClusterProfiles(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	config, err := configured.BuildConfigFromCP(profile)
	if err != nil {
		return err
	}
	answer, err := version(ctx, config)
	if err != nil {
		return err
	}
	return say(map[string]string{"host": config.Host, "version": answer})
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	var said struct {
		GitVersion string `json:"gitVersion"`
	}
	return said.GitVersion, json.Unmarshal(body, &said)
}
