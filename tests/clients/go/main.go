// Command clients asks a server what programs in Go ask theirs, with the libraries those are made of: client-go,
// controller-runtime and Flux's ssa. It prints a sentence for each thing that went as it should, and ends with the
// first that did not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	limit := flag.Duration("limit", 2*time.Minute, "when to give up")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := run(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	// Nothing here is to wait for itself.
	config.QPS, config.Burst = 1000, 1000
	commands := map[string]func(context.Context, *rest.Config) error{
		"controller": lead,
		"flux":       reconcile,
		"informers":  follow,
		"protobuf":   inProtobuf,
		"typed":      typed,
	}
	if command, ok := commands[what]; ok {
		return command(ctx, config)
	}
	return errors.New("say what to do: controller, flux, informers, protobuf or typed")
}

// did says what went as it should.
func did(format string, arguments ...any) {
	fmt.Printf(format+"\n", arguments...)
}

// until asks again and again, until it is so or the time is over: then it says what was wrong last.
func until(ctx context.Context, what string, ask func() error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, errors.Join(last, err))
	}
	return nil
}
