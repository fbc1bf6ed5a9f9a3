package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
)

// checkResults compares all results in all histories with the log of the activities' bodies.
func (k *killing) checkResults(ctx context.Context) {
	k.t.Helper()
	bodies := k.readLog()
	for d, err := range k.client.All(ctx, client.Filter{}) {
		if err != nil {
			k.t.Fatal(err)
		}
		for n := int64(1); n <= d.Execution; n++ {
			if err := k.checkExecution(ctx, d, n, bodies); err != nil {
				k.t.Errorf("%s execution %d: %v", d.ID, n, err)
			}
		}
	}
}

func (k *killing) checkExecution(ctx context.Context, d client.Description, n int64, bodies map[string]*body) error {
	scheduled := make(map[int64]client.HistoryEvent)
	var faults []error
	for e, err := range client.HandleOf[uint64](k.client, d.ID, d.Key).History(ctx, n) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case "ActivityScheduled":
			scheduled[e.ID] = e
		case "ActivityCompleted", "ActivityFailed":
			if err := checkResult(e, scheduled[e.Ref], bodies[fmt.Sprintf("%s/%d/%d", d.Key, n, e.Ref)]); err != nil {
				faults = append(faults, fmt.Errorf("event %d, the result of event %d: %w", e.ID, e.Ref, err))
			}
		}
	}
	return errors.Join(faults...)
}

// checkResult compares a stored result with the log of its activity's bodies.
func checkResult(result, scheduled client.HistoryEvent, b *body) error {
	var in churn.Call
	if err := json.Unmarshal(scheduled.Input, &in); err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("its body never started")
	}
	attempt := 1
	if scheduled.Name == "Mix" {
		attempt += in.Failures
	}
	if result.Attempt != int64(attempt) {
		return fmt.Errorf("it is of attempt %d, must be %d: %+v", result.Attempt, attempt, in)
	}
	if result.Kind == "ActivityFailed" {
		return nil // breaks, which stores no delivery
	}
	var out churn.Answer
	if err := json.Unmarshal(result.Output, &out); err != nil {
		return err
	}
	stored := try{attempt, out.Delivery}
	if !b.done[stored] {
		return fmt.Errorf("no body finished %+v: %+v", stored, b.lines)
	}
	// A later delivery invalidates the token of an earlier one. So the last delivery that began counts, and after
	// its result none begins.
	if b.last != stored {
		return fmt.Errorf("it is of %+v, but %+v began", stored, b.last)
	}
	return nil
}

// try is one delivery of one attempt of an activity.
type try struct{ attempt, delivery int }

func (a try) less(b try) bool {
	return a.attempt < b.attempt || a.attempt == b.attempt && a.delivery < b.delivery
}

// body is the log of one scheduled activity.
type body struct {
	begun  int
	last   try // last one that began
	done   map[try]bool
	lines  []churn.Line // all of them, for messages
	failed map[int]bool // by attempt
}

// readLog collects the log of the activities. It checks that only failures use up attempts, never a kill.
func (k *killing) readLog() map[string]*body {
	k.t.Helper()
	lines, cut, err := k.log.Read()
	if err != nil {
		k.t.Fatal(err)
	}
	bodies := make(map[string]*body)
	again := 0
	for _, line := range lines {
		b := bodies[line.Call]
		if b == nil {
			b = &body{done: make(map[try]bool), failed: make(map[int]bool)}
			bodies[line.Call] = b
		}
		b.lines = append(b.lines, line)
		this := try{line.Attempt, line.Delivery}
		switch line.What {
		case churn.Began:
			if b.begun++; this.delivery > 1 {
				again++
			}
			if b.last.less(this) {
				b.last = this
			}
			if this.attempt > 1 && !b.failed[this.attempt-1] {
				k.t.Errorf("activity %s: attempt %d began, but attempt %d has not failed", line.Call, this.attempt, this.attempt-1)
			}
		case churn.Done:
			b.done[this] = true
		case churn.Failed:
			b.failed[this.attempt] = true
		}
	}
	k.t.Logf("%d activities; bodies began again %d times after a kill or a pause; %d lines were truncated", len(bodies), again, cut)
	return bodies
}
