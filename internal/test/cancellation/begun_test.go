package cancellation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// An activity that was cancelled before it began never begins, wherever its task is. An ended execution, a lost race
// and a cancelled scope leave no task behind.
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
				if reason == "its scope is cancelled" { // in the stores, the other cases are equal
					ways = everyStore
				}
				ways(t, func(r *rig) { neverBegins(r, c.name, main, c.at) })
			})
		}
	}
}

// backOff returns how long a failed attempt waits for the next. The cancellation must be stored before that is over, on
// a busy machine, too.
func (r *rig) backOff() time.Duration {
	if r.Virtual {
		return 10 * time.Second
	}
	return 6 * time.Second
}

// neverBegins cancels a waiting activity and then lets a node that could run it look for work.
func neverBegins(r *rig, name string, main func(ctx *octx, name string, retry orchestration.ActivityOption) (string, error), at func([]provider.TaskInfo) bool) {
	var refused enginetest.Notes[int]
	retry := orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: r.backOff(), Jitter: orchestration.Off})
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
	wait := time.Second
	if name == "refuse" { // until the next attempt had begun
		wait += r.backOff()
	}
	r.pause(wait)
	if len(l.began) != 0 || len(refused.All()) != 1 && name == "refuse" {
		r.T.Errorf("it began %d times, and %d attempts were refused", len(l.began), len(refused.All()))
	}
}

// holding is a store that delays the return of fetched tasks until the test releases them.
type holding struct {
	*provider.Full

	fetched, arrive chan struct{}
}

func (h *holding) Unwrap() provider.Provider { return h.Provider }

func (h *holding) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := h.Provider.FetchTasks(ctx, req)
	if len(res.Tasks) > 0 {
		close(h.fetched)
		<-h.arrive
	}
	return res, err
}

// A task that was fetched just before its execution ended begins, because the notice came too early. The next renewal
// cancels it.
func TestActivity_FetchedAsItsExecutionEnds(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		if r.way == same {
			return // the commit that ends the execution hands nothing off
		}
		slow := &holding{Full: provider.FullOf(r.near), fetched: make(chan struct{}), arrive: make(chan struct{})}
		r.near = slow
		l := r.listen("work", nil)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			begin(ctx, "work", "")
			return "", receive(ctx, "go on")
		})
		<-slow.fetched
		goOn(r, key)
		r.WaitEnded(key)
		close(slow.arrive)
		began := time.Now()
		h := r.hear(l)
		if took := h.at.Sub(began); !errors.Is(h.cause, activity.ErrOrchestrationEnded) || took > r.lease()/3+time.Second {
			r.T.Errorf("saw %v after %v", h.cause, took)
		}
	})
}
