package frame

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

// World is one line of what a program of the differential tests reads: everything there is at one instant.
type World struct {
	// Now is the instant to decide at.
	Now time.Time `json:"now"`
	// Objects are as an API server would answer them: with defaults and with status, by kind, namespace and name.
	Objects []json.RawMessage `json:"objects"`
	// Configuration is the scheduler's own, where it has one.
	Configuration json.RawMessage `json:"configuration,omitempty"`
}

// Verdicts says what an original decided about every demand of a world, by "<namespace>/<name>" or, where demands have no
// namespace, by name. Each demand is decided on the world as it was given.
type Verdicts map[string]*Verdict

// Verdict is one decision, and what every filter says by itself.
type Verdict struct {
	// Problem says why nothing was decided: one word.
	Problem string `json:"problem,omitempty"`
	// Picked are the clusters, in the scheduler's order or, where that tells nothing, by name.
	Picked []string `json:"picked"`
	// Refused are the filters that refuse a cluster, by cluster: each filter was asked about each cluster by itself.
	Refused map[string][]string `json:"refused"`
	// Totals are the total scores of the feasible clusters, where the scheduler adds scores.
	Totals map[string]int64 `json:"totals,omitempty"`
	// Scores are the parts of the total scores, by cluster and scorer.
	Scores map[string]map[string]int64 `json:"scores,omitempty"`
	// Written is what the scheduler wrote, as the comparison wants it.
	Written any `json:"written,omitempty"`
	// Patient is what the scheduler decides where it lets nothing go before the end, if that is something else.
	Patient *Verdict `json:"patient,omitempty"`
}

// NewVerdict is a decision that picked and refused nothing.
func NewVerdict() *Verdict {
	return &Verdict{Picked: []string{}, Refused: map[string][]string{}}
}

// Refuse notes that filter refuses cluster.
func (v *Verdict) Refuse(cluster, filter string) {
	v.Refused[cluster] = append(v.Refused[cluster], filter)
}

// Judge answers each World on standard input with one line until standard input ends: {"verdicts": ...}, or {"error": ...}
// about what is no world or makes the original panic.
func Judge(decide func(*World) (Verdicts, error)) {
	if err := judge(decide); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(decide func(*World) (Verdicts, error)) error {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		verdicts, err := guarded(line, decide)
		answer := map[string]any{"verdicts": verdicts}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
			return err
		}
	}
}

// guarded decides the world in line; a panic is an error.
func guarded(line []byte, decide func(*World) (Verdicts, error)) (verdicts Verdicts, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	var world World
	if err := json.Unmarshal(line, &world); err != nil {
		return nil, fmt.Errorf("a world is expected: %w", err)
	}
	return decide(&world)
}
