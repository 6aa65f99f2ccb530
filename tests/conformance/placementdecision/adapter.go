package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// errUnsupported says that an adapter cannot do what a rule needs.
var errUnsupported = errors.New("the adapter does not support it")

// unsupported is the exit code by which an adapter says so.
const unsupported = 3

// adapter has the producer's scheduler decide. What it can do is in README.md.
type adapter struct{ command string }

// cluster names a ClusterProfile.
type cluster struct{ namespace, name string }

func (c cluster) String() string { return c.namespace + "/" + c.name }

func (a adapter) do(arguments ...string) (string, error) {
	var out, problem bytes.Buffer
	command := exec.Command(a.command, arguments...)
	command.Stdout, command.Stderr = &out, &problem
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == unsupported:
		return "", fmt.Errorf("%w: %s", errUnsupported, arguments[0])
	case err != nil:
		return "", fmt.Errorf("adapter %s: %w: %s", arguments[0], err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// fleet makes sure that there are at least count clusters to choose from: the first count of them.
func (a adapter) fleet(count int) ([]cluster, error) {
	said, err := a.do("fleet", strconv.Itoa(count))
	if err != nil {
		return nil, err
	}
	var all []cluster
	for _, line := range strings.Fields(said) {
		namespace, name, found := strings.Cut(line, "/")
		if !found {
			return nil, fmt.Errorf("adapter fleet: %q is not namespace/name of a ClusterProfile", line)
		}
		all = append(all, cluster{namespace, name})
	}
	if len(all) < count {
		return nil, fmt.Errorf("adapter fleet: %d clusters were asked for, %d are named", count, len(all))
	}
	return all[:count], nil
}

// decide has exactly these clusters chosen for a workload: the label selector of the slices.
func (a adapter) decide(workload string, clusters []cluster) (string, error) {
	arguments := []string{"decide", workload}
	for _, one := range clusters {
		arguments = append(arguments, one.String())
	}
	selector, err := a.do(arguments...)
	if err == nil && selector == "" {
		err = errors.New("adapter decide: it says no label selector")
	}
	return selector, err
}

// end ends the placement of a workload.
func (a adapter) end(workload string) error {
	_, err := a.do("end", workload)
	return err
}

// restart ends the producer as a crash would, and starts it again.
func (a adapter) restart() error {
	_, err := a.do("restart")
	return err
}
