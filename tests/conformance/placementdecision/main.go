// Command placementdecision tests a producer of PlacementDecisions (KEP-5313) from outside: by a kubeconfig, as consumers read,
// and an adapter, a command that has the producer's scheduler decide. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	decisions = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "placementdecisions"}
	profiles  = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "clusterprofiles"}
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the server that consumers read")
	namespace := flag.String("namespace", "", "where the producer writes PlacementDecisions")
	adapter := flag.String("adapter", "", "the command that has the producer decide")
	patience := flag.Duration("patience", 60*time.Second, "how long a decision may take to be seen")
	quiet := flag.Duration("quiet", 5*time.Second, "how long it is watched that nothing happens")
	only := flag.String("only", "", "the one rule to test, by its name")
	flag.Parse()
	failed, err := run(*kubeconfig, *namespace, *adapter, *only, *patience, *quiet)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// run tests rule by rule, in order, and tells whether one that MUST hold does not.
func run(kubeconfig, namespace, command, only string, patience, quiet time.Duration) (bool, error) {
	if kubeconfig == "" || namespace == "" || command == "" {
		return false, errors.New("-kubeconfig, -namespace and -adapter are required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return false, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, err
	}
	failed := false
	for _, rule := range rules {
		if only != "" && only != rule.name {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		trial := &trial{
			ctx: ctx, client: client, namespace: namespace,
			adapter: adapter{command}, patience: patience, quiet: quiet,
			workload: "conformance-" + rule.name,
		}
		err := trial.of(rule)
		cancel()
		switch {
		case errors.Is(err, errUnsupported):
			fmt.Printf("SKIP %-6s %s: %v\n", rule.level, rule.name, err)
		case err != nil:
			fmt.Printf("FAIL %-6s %s: %s\n     %v\n", rule.level, rule.name, rule.text, err)
			failed = failed || rule.level == must
		default:
			fmt.Printf("PASS %-6s %s: %s\n", rule.level, rule.name, rule.text)
		}
	}
	return failed, nil
}
