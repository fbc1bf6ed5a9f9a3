package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"
)

// jobVariable holds the job of a child process as JSON.
const jobVariable = "PERDURE_COMPARE_JOB"

// job is one workload on one system and one store. Each job runs in a separate process.
type job struct {
	System   string `json:"system"`
	Workload string `json:"workload"`
	Store    store  `json:"store"`
	Load     load   `json:"load"`
}

// outcome is the result of a child process.
type outcome struct {
	Figures  []figure `json:"figures,omitempty"`
	Settings []string `json:"settings,omitempty"`
}

// logger logs only errors, to standard error. The end of that output is shown when a run fails.
func logger() *slog.Logger {
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: noTime}))
}

// beChild runs the job from the environment, if there is one, and exits the process.
func beChild() {
	text := os.Getenv(jobVariable)
	if text == "" {
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		var o outcome
		if o, err = j.do(context.Background()); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// do runs the workload after one orchestration that is not measured. By then connections, statements and pages
// exist.
func (j job) do(ctx context.Context) (outcome, error) {
	p, found := find(products(), j.System, func(p product) string { return p.name })
	w, known := find(workloads(), j.Workload, func(w workload) string { return w.name })
	if !found || !known {
		return outcome{}, fmt.Errorf("no system %q or no workload %q", j.System, j.Workload)
	}
	sys, err := p.open(ctx, j.Store)
	if err != nil {
		return outcome{}, fmt.Errorf("opening %s: %w", p.name, err)
	}
	if err := runOne(ctx, sys, chain, 5); err != nil {
		return outcome{}, fmt.Errorf("warming up: %w", err)
	}
	figures, err := w.run(ctx, sys, j.Load)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Figures: figures, Settings: sys.Settings(ctx)}, nil
}

// find returns the element with that name.
func find[T any](all []T, name string, of func(T) string) (T, bool) {
	for _, one := range all {
		if of(one) == name {
			return one, true
		}
	}
	var none T
	return none, false
}

// errLimit is the error of a run that took too long.
var errLimit = errors.New("not done")

// inChild runs the job in a separate process. It also returns the CPU time of that process, worker and client
// together.
func (j job) inChild(ctx context.Context, limit time.Duration) (o outcome, cpu time.Duration, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return o, 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return o, cpu, fmt.Errorf("%w after %v: %s", errLimit, limit, reason(stderr.String()))
	case err != nil:
		return o, cpu, fmt.Errorf("%w: %s", err, reason(stderr.String()))
	}
	return o, cpu, json.Unmarshal(stdout.Bytes(), &o)
}

// reason returns why a process failed: its panic, or its last line.
func reason(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return lines[len(lines)-1]
}
