// Package retention is the orchestration that removes what the rules of a store do not keep, once an hour.
package retention

import (
	"time"

	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/orchestration"
)

const (
	// version is that of the code below. Its commands must not change: later code is a version of its own.
	version = "1"
	// maxRounds and maxSteps bound an execution, so that retention moves on to newer code.
	maxRounds = 24
	maxSteps  = 100
	// stepLimit is how long one attempt of a step may take.
	stepLimit = 10 * time.Minute
)

// V1 returns version 1 of the orchestration. It ends when there are no rules any more.
func V1() func(*orchestration.Context, form.State) (form.View, error) {
	return orchestration.Define(reserved.Retention, run, orchestration.Version(version))
}

func run(ctx *orchestration.Context, st form.State) (form.View, error) {
	control := orchestration.Events[string](ctx, form.Control)
	for range maxRounds {
		if err := wait(ctx, control, st.NextAt); err != nil {
			return st.Last, err
		}
		st.NextAt = ctx.Now().Add(form.Every)
		st.Last = form.View{Began: ctx.Now(), Rounds: st.Last.Rounds + 1}
		off, err := round(ctx, &st.Last)
		if err != nil {
			return st.Last, err
		}
		if off {
			if !taken(control) {
				return st.Last, nil // what comes from now on starts another one
			}
			st.NextAt = ctx.Now() // rules were set since the round looked; replay does not compare how long timers run
		}
	}
	return form.View{}, orchestration.ContinueAsNew(ctx, st, orchestration.KeepVersion())
}

// wait waits until a time or until somebody asks for a round.
func wait(ctx *orchestration.Context, control orchestration.Mailbox[string], until time.Time) error {
	timer := orchestration.StartTimer(ctx, until.Sub(ctx.Now()))
	_, err := orchestration.Select(ctx, control, timer)
	timer.Cancel()
	taken(control)
	return err
}

// taken takes all requests, whatever they say, and reports whether there were any.
func taken(control orchestration.Mailbox[string]) (some bool) {
	for {
		if _, ok, _ := control.TryReceive(); !ok {
			return some
		}
		some = true
	}
}

// round makes steps until the rules have nothing left to remove. A very long round goes on an hour later.
func round(ctx *orchestration.Context, v *form.View) (off bool, err error) {
	var at form.Position
	orchestration.SetValue(ctx, form.ValueKey, *v) // it goes on
	for range maxSteps {
		stepped, err := orchestration.CallActivityNamed[form.Stepped](ctx, reserved.NamePrefix+form.Step, form.StepRequest{From: at},
			orchestration.WithQueue(reserved.Queue), orchestration.WithStartToCloseTimeout(stepLimit),
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 20, MaxInterval: time.Minute}))
		if ctx.Err() != nil {
			return false, err
		}
		if err != nil {
			v.Problem = err.Error()
			break
		}
		at, v.Removed = stepped.To, v.Plus(stepped.Removed)
		if stepped.Off {
			off = true
		}
		if stepped.Over || off {
			break
		}
		orchestration.SetValue(ctx, form.ValueKey, *v)
	}
	v.Ended = ctx.Now()
	orchestration.SetValue(ctx, form.ValueKey, *v)
	return off, nil
}
