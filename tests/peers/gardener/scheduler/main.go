// Command scheduler is Gardener's scheduler: what its own program of that name starts, with its flags.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/gardener/gardener/cmd/gardener-scheduler/app"
	"github.com/gardener/gardener/pkg/scheduler/features"

	"berth.dev/tests/peers/frame"
)

func main() {
	go frame.EndWithInput()
	features.RegisterFeatureGates()
	if err := app.NewCommand().ExecuteContext(signals.SetupSignalHandler()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
