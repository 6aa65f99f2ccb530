// Command controller is Open Cluster Management's placement controller: what its own program of that name starts, with its flags,
// without the other parts of its hub, which would have to be built with it.
package main

import (
	"context"
	"io"
	"os"
	"syscall"

	"k8s.io/component-base/cli"
	"k8s.io/utils/clock"

	"open-cluster-management.io/ocm/pkg/common/options"
	hub "open-cluster-management.io/ocm/pkg/placement/controllers"
	"open-cluster-management.io/ocm/pkg/version"
)

func main() {
	go endWithInput()
	settings := options.NewOptions()
	configuration := settings.NewControllerCommandConfig("placement", version.Get(), hub.RunControllerManager, clock.RealClock{})
	command := configuration.NewCommandWithContext(context.Background())
	command.Use = "controller"
	settings.AddFlags(command.Flags())
	os.Exit(cli.Run(command))
}

// endWithInput waits for the end of standard input, which the tests hold open: nothing outlives them.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
