// Command consumers does with what Berth publishes what its readers do, with their own libraries: those of
// sigs.k8s.io/cluster-inventory-api and client-go. It prints one line of JSON for each thing that it saw.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientset "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the server that publishes")
	namespace := flag.String("namespace", "", "where it publishes, or Argo CD's own (duck)")
	name := flag.String("name", "", "the ClusterProfile (access, hold), the decision key (follow), or the Decision (duck)")
	providers := flag.String("providers", "", "the file of access providers (access)")
	limit := flag.Duration("limit", 30*time.Second, "when to end (follow)")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := run(ctx, flag.Arg(0), *kubeconfig, *namespace, *name, *providers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what, kubeconfig, namespace, name, providers string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	published, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	switch what {
	case "access":
		return reach(ctx, published, namespace, name, providers)
	case "follow":
		return follow(ctx, published, namespace, name)
	case "engage":
		return engage(ctx, published, namespace)
	case "hold":
		return hold(ctx, published, namespace, name)
	case "duck":
		return duck(ctx, config, namespace, name)
	}
	return errors.New("say what to do: access, follow, engage, hold or duck")
}

// say prints one line.
func say(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}

// version asks a server which version it is: the least that shows that a configuration leads somewhere.
func version(ctx context.Context, config *rest.Config) (string, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 10 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", err
	}
	return get(ctx, client, base.JoinPath("version").String())
}
