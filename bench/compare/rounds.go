package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// run is a job and its result or failure.
type run struct {
	Round       int      `json:"round"`
	Store       string   `json:"store"`
	Workload    string   `json:"workload"`
	System      string   `json:"system"`
	Load        load     `json:"load"`
	MachineLoad string   `json:"machine_load,omitempty"` // of the last minute, before the run
	Seconds     float64  `json:"seconds"`                // of the whole process
	CPUSeconds  float64  `json:"cpu_seconds"`            // of the system's process, without a server
	Figures     []figure `json:"figures,omitempty"`
	Settings    []string `json:"settings,omitempty"`
	Failed      string   `json:"failed,omitempty"`
}

// plan is what to run.
type plan struct {
	systems   []product
	workloads []workload
	kinds     []string // kinds of stores
	stores    stores
	rounds    int
	scale     float64
	limit     time.Duration
}

// hanging is a system that exceeded the limit on a workload. It is not tried again in later rounds, which would
// take as long.
type hanging struct{ store, workload, system string }

// run runs the plan. The systems alternate within each workload, so that a change in the speed of the machine
// affects all of them.
func (p plan) run(ctx context.Context, progress io.Writer) (runs []run, err error) {
	hung := make(map[hanging]string)
	for round := range p.rounds {
		for _, kind := range p.kinds {
			for _, w := range p.workloads {
				for _, sys := range p.systems {
					r := run{Round: round + 1, Store: kind, Workload: w.name, System: sys.name, Load: load{sizes(w.name)[sys.name], p.scale}}
					if err := p.one(ctx, &r, hung); err != nil {
						return runs, err
					}
					runs = append(runs, r)
					fmt.Fprintf(progress, "round %d  %-8s  %-3s  %-14s  %6.1f s  load %s  %s\n",
						r.Round, r.Store, r.Workload, r.System, r.Seconds, r.MachineLoad, r.say())
				}
			}
		}
	}
	return runs, nil
}

// one does one run. It returns an error only if no run can succeed. A failure of the system is a result.
func (p plan) one(ctx context.Context, r *run, hung map[hanging]string) error {
	h := hanging{r.Store, r.Workload, r.System}
	if why, known := hung[h]; known {
		r.Failed = why
		return ctx.Err()
	}
	s, remove, err := p.stores.fresh(ctx, r.Store)
	if err != nil {
		return fmt.Errorf("making a store: %w", err)
	}
	r.MachineLoad = machineLoad()
	began := time.Now()
	o, cpu, failed := job{System: r.System, Workload: r.Workload, Store: s, Load: r.Load}.inChild(ctx, p.limit)
	r.Seconds, r.CPUSeconds = time.Since(began).Seconds(), cpu.Seconds()
	r.Figures, r.Settings = o.Figures, o.Settings
	if failed != nil {
		r.Failed = failed.Error()
	}
	if errors.Is(failed, errLimit) {
		hung[h] = r.Failed
	}
	if err := remove(); err != nil {
		return fmt.Errorf("removing a store: %w", err)
	}
	return ctx.Err()
}

// say returns the result in a few words.
func (r run) say() string {
	if r.Failed != "" {
		return "failed: " + r.Failed
	}
	var said []string
	for _, f := range r.Figures {
		said = append(said, number(f.Value)+" "+f.Name)
	}
	return strings.Join(said, ", ")
}

// machineLoad returns the load average of the last minute, or "" if the system does not report it.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
