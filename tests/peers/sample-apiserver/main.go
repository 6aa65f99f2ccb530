// Command sample-apiserver is the sample API server of Kubernetes, with its own flags, for the benchmark of servers. It
// ends when its standard input does, so nothing outlives the benchmark that started it.
package main

import (
	"io"
	"os"
	"syscall"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/sample-apiserver/pkg/cmd/server"
)

func main() {
	go endWithInput()
	options := server.NewWardleServerOptions(os.Stdout, os.Stderr)
	command := server.NewCommandStartWardleServer(genericapiserver.SetupSignalContext(), options, false)
	os.Exit(cli.Run(command))
}

func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
