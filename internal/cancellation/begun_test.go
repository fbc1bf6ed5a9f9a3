package cancellation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// What was given up before it began never begins, wherever its task is; an ended execution, a lost race and a cancelled scope
// leave no task behind.
func TestActivity_WhatWasGivenUpNeverBegins(t *testing.T) {
	t.Parallel()
	reasons := map[string]func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error){
		"the execution ends": func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error) {
			begin(ctx, name, "", retry)
			return "", receive(ctx, "go on")
		},
		"it loses a race": func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error) {
			box := ctx.Go(func(ctx *octx) error { return receive(ctx, "go on") })
			slow := ctx.Go(func(ctx *octx) error { _, err := call(ctx, name, "", retry); return err })
			_, _, err := orchestration.Race(ctx, box, slow)
			return "", errors.Join(err, ctx.Sleep(time.Second))
		},
		"its scope is cancelled": func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error) {
			scope, cancel := ctx.WithCancel()
			begin(scope, name, "", retry)
			err := receive(ctx, "go on")
			cancel()
			return "", errors.Join(err, ctx.Sleep(time.Second))
		},
	}
	for reason, main := range reasons {
		for place, c := range map[string]struct {
			name string
			at   func(tasks []provider.TaskInfo) bool
		}{
			"queued":            {"later", func(tasks []provider.TaskInfo) bool { return len(tasks) == 1 }},
			"in retry back-off": {"refuse", func(tasks []provider.TaskInfo) bool { return len(tasks) == 1 && tasks[0].Attempt == 2 }},
		} {
			t.Run(reason+"/"+place, func(t *testing.T) {
				t.Parallel()
				ways := everyWay
				if reason == "its scope is cancelled" { // in the stores, the others are the same
					ways = everyStore
				}
				ways(t, func(r *rig) { neverBegins(r, c.name, main, c.at) })
			})
		}
	}
}

// backOff is how long an attempt that was refused waits for the next.
func (r *rig) backOff() time.Duration {
	if r.Virtual {
		return 10 * time.Second
	}
	return 400 * time.Millisecond
}

// neverBegins gives an activity up that waits, and then lets a node that could run it look for work.
func neverBegins(r *rig, name string, main func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error), at func([]provider.TaskInfo) bool) {
	var refused enginetest.Notes[int]
	retry := orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: r.backOff()})
	enginetest.Activity(r.T, r.activities, "refuse", func(context.Context, string) (string, error) {
		refused.Add(1)
		return "", errors.New("refused")
	})
	key := r.main(func(ctx *octx, _ none) (string, error) { return main(ctx, name, retry) })
	r.Until("the task waits", func() bool { return at(r.Tasks(key)) })
	goOn(r, key)
	r.Until("it was given up", func() bool { return len(r.Tasks(key)) == 0 })
	late := newRig(r.engine, same, r.Store)
	l := late.listen("later", nil)
	late.start()
	r.WaitEnded(key)
	r.pause(2 * r.backOff())
	if len(l.began) != 0 || len(refused.All()) != 1 && name == "refuse" {
		r.T.Errorf("it began %d times, and %d attempts were refused", len(l.began), len(refused.All()))
	}
}

// A task that was fetched just when its execution ended, or was handed to the node by the commit before, is told as soon as it begins.
func TestActivity_FetchedTaskOfAnEndedExecutionIsNotRun(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		fetched := make(chan struct{})
		r.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTasks}, Kind: faulty.Delay, Until: fetched})
		l := r.listen("work", nil)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			begin(ctx, "work", "")
			return "", receive(ctx, "go on")
		})
		r.Until("the task waits", func() bool { return len(r.Tasks(key)) == 1 })
		goOn(r, key)
		r.WaitEnded(key)
		close(fetched)
		r.pause(time.Minute)
		if len(l.began) != 0 || r.worker.Stats().AttemptsRunning != 0 {
			r.T.Errorf("it began %d times", len(l.began))
		}
	})
}
