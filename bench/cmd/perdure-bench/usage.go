package main

import (
	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/provider"
)

// totals holds the usage of a process and the counters of its store; nil means unknown.
type totals struct {
	CPU     *float64 `json:"cpu,omitempty"` // seconds
	Peak    *int64   `json:"peak,omitempty"`
	Memory  *int64   `json:"memory,omitempty"`
	Written *int64   `json:"written,omitempty"`
	Commits int64    `json:"commits"`
}

func readTotals(store provider.Provider) (t totals) {
	t.Commits = provider.CountersOf(store).Commits
	if u, ok := measure.Self(); ok {
		t.CPU, t.Peak, t.Memory = new(u.CPU.Seconds()), &u.Peak, &u.Memory
	}
	if written, ok := measure.Written(); ok {
		t.Written = &written
	}
	return t
}
