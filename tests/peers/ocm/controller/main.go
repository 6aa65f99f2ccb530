// Command controller is Open Cluster Management's placement controller: what its own program of that name starts, with its flags,
// without the other parts of its hub, which would have to be built with it.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/utils/clock"

	"open-cluster-management.io/ocm/pkg/common/options"
	hub "open-cluster-management.io/ocm/pkg/placement/controllers"
	"open-cluster-management.io/ocm/pkg/version"

	"berth.dev/tests/peers/frame"
)

func main() {
	go frame.EndWithInput()
	settings := options.NewOptions()
	configuration := settings.NewControllerCommandConfig("placement", version.Get(), hub.RunControllerManager, clock.RealClock{})
	command := configuration.NewCommandWithContext(context.Background())
	command.Use = "controller"
	settings.AddFlags(command.Flags())
	os.Exit(cli.Run(command))
}
