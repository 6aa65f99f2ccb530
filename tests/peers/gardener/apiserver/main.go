// Command apiserver is Gardener's API server: what its own program of that name starts, with its flags.
package main

import (
	"os"

	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/gardener/gardener/cmd/gardener-apiserver/app"
	"github.com/gardener/gardener/pkg/apiserver/features"

	"berth.dev/tests/peers/frame"
)

func main() {
	go frame.EndWithInput()
	features.RegisterFeatureGates()
	if err := app.NewCommand().ExecuteContext(signals.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
