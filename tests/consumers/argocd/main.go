// Command argocd makes of an ApplicationSet what Argo CD's own generator clusterDecisionResource makes of it: the parameters for each
// cluster, one line of JSON each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the server where Argo CD would run")
	namespace := flag.String("namespace", "argocd", "Argo CD's own")
	file := flag.String("set", "", "the file of an ApplicationSet")
	flag.Parse()
	if err := generate(*kubeconfig, *namespace, *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(kubeconfig, namespace, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var set v1alpha1.ApplicationSet
	if err := yaml.UnmarshalStrict(text, &set); err != nil {
		return err
	}
	if len(set.Spec.Generators) == 0 {
		return errors.New("the ApplicationSet has no generator")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	known, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	anything, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	generator := generators.NewDuckTypeGenerator(ctx, anything, known, namespace)
	// It takes a client for what other generators read.
	made, err := generator.GenerateParams(&set.Spec.Generators[0], &set, nil)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(os.Stdout)
	for _, parameters := range made {
		if err := lines.Encode(parameters); err != nil {
			return err
		}
	}
	return nil
}
