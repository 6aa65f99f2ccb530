// Command hub runs the parts of a real Kubernetes control plane that Berth's end-to-end tests need: etcd,
// kube-apiserver and kube-controller-manager, chosen by the first argument, each taking its own flags; and "run", which
// runs any other program.
//
// Each ends when its standard input does. The tests hold the other end, so whatever becomes of them, nothing is left
// running.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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
	if len(os.Args) > 2 && os.Args[1] == "run" {
		os.Exit(run(os.Args[2:]))
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: hub etcd|kube-apiserver|kube-controller-manager [flags], or hub run program [arguments]")
		os.Exit(2)
	}
	program := programs[os.Args[1]]
	os.Args = os.Args[1:]
	go endWithInput()
	os.Exit(cli.Run(program()))
}

// run runs a program with the output of this one, and ends it when standard input ends.
func run(arguments []string) int {
	child := exec.Command(arguments[0], arguments[1:]...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Whoever reads the output must see its end when the child ends.
	_ = os.Stdout.Close()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = child.Process.Kill()
	}()
	_ = child.Wait()
	return child.ProcessState.ExitCode()
}

// endWithInput waits for the end of standard input. What is left to do in order after that is not worth waiting for:
// nothing outlives the test.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
