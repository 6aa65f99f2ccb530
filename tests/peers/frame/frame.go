// Package frame is what the programs have in common that decide with an original scheduler, for the benchmark of
// schedulers.
//
//	PROGRAM FLEET
//
// reads a fleet (a JSON object of lists of objects), prints "ready", then answers each line of standard input,
// "NAME COUNT", by deciding the demand of that name COUNT times and printing one line of JSON: how long each decision
// took, in nanoseconds of the clock and of processor time, and what the last one picked.
package frame

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Scheduler is an original over one fleet.
type Scheduler interface {
	// Prepare gets ready to decide about the demand of this name, and returns what decides, once. Only the latter is timed.
	Prepare(name string) (decide func() error, err error)
	// Picked tells what was decided last.
	Picked() Picked
}

// Picked is one decision.
type Picked struct {
	// Names are the clusters, in the scheduler's order or, where that tells nothing, by name.
	Names []string `json:"picked"`
	// Scores are their total scores, where the scheduler adds scores.
	Scores map[string]int64 `json:"scores,omitempty"`
}

// answer is one line of output.
type answer struct {
	Nanoseconds []int64 `json:"nanoseconds"`
	Processor   []int64 `json:"processor"`
	Picked
}

// Main reads the fleet that the command line names and answers questions about it until standard input ends. It ends the
// process with status 1, and why on standard error, when one cannot be answered.
func Main[Fleet any](open func(*Fleet) (Scheduler, error)) {
	if err := run(open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run[Fleet any](open func(*Fleet) (Scheduler, error)) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: %s FLEET", os.Args[0])
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var fleet Fleet
	if err := json.Unmarshal(text, &fleet); err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	scheduler, err := open(&fleet)
	if err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name string
		var count int
		if _, err := fmt.Sscan(lines.Text(), &name, &count); err != nil {
			return fmt.Errorf("%q: NAME COUNT is expected: %w", lines.Text(), err)
		}
		result, err := decide(scheduler, name, count)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line, err := json.Marshal(result)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return lines.Err()
}

func decide(scheduler Scheduler, name string, count int) (*answer, error) {
	result := &answer{}
	for range count {
		once, err := scheduler.Prepare(name)
		if err != nil {
			return nil, err
		}
		begun, used := time.Now(), processorTime()
		err = once()
		result.Nanoseconds = append(result.Nanoseconds, time.Since(begun).Nanoseconds())
		result.Processor = append(result.Processor, processorTime()-used)
		if err != nil {
			return nil, err
		}
	}
	result.Picked = scheduler.Picked()
	return result, nil
}

// processorTime is what this process has used so far, in nanoseconds, its garbage collector included.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// EndWithInput ends the process with its standard input, which the tests hold open: nothing outlives them.
func EndWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
