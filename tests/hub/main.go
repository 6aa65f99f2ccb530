// Command hub runs the parts of a real Kubernetes control plane that Berth's end-to-end tests need: etcd,
// kube-apiserver and kube-controller-manager, chosen by the first argument, each taking its own flags.
//
// Each ends when its standard input does. The tests hold the other end, so whatever becomes of them, nothing is left
// running.
package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the clients inside both programs
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	programs := map[string]func() *cobra.Command{
		"etcd":                    newEtcdCommand,
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: hub etcd|kube-apiserver|kube-controller-manager [flags]")
		os.Exit(2)
	}
	program := programs[os.Args[1]]
	os.Args = os.Args[1:]
	go endWithInput()
	os.Exit(cli.Run(program()))
}

// endWithInput waits for the end of standard input. What is left to do in order after that is not worth waiting for:
// nothing outlives the test.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
