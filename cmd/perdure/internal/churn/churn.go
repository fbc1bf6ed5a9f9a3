// Package churn is the workload of the test that kills workers: orchestrations that use
// every kind of step and whose outcome follows from their input.
package churn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// WordEvent is the event of which each round of Run receives one.
const WordEvent = "word"

// Plan is the input of [Run].
type Plan struct {
	Seed   uint64 `json:"seed"`
	Rounds int    `json:"rounds"` // executions in all, by continue-as-new
	Steps  int    `json:"steps"`  // sequential activities of a round
	Width  int    `json:"width"`  // parallel activities of a round
	Fail   bool   `json:"fail"`   // the last round ends with an error
	Round  int    `json:"round"`
	Sum    uint64 `json:"sum"` // of earlier rounds
}

// Call is the input of [Mix].
type Call struct {
	Seed     uint64 `json:"seed"`
	Round    int    `json:"round"`
	Step     int    `json:"step"`
	Failures int    `json:"failures"` // attempts that fail first
}

// ErrBroken is how a plan with Fail ends.
var ErrBroken = errors.New("broken on purpose")

// Register adds the workload to a registry.
func Register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddError(reg, "churn.broken", ErrBroken),
		runtime.AddOrchestration(reg, Run),
		runtime.AddOrchestration(reg, Leaf),
		runtime.AddActivity(reg, Mix),
		runtime.AddActivity(reg, Break),
	)
}

// Run makes one round of a plan and goes on with the next.
func Run(ctx *orchestration.Context, p Plan) (uint64, error) {
	r := &round{plan: p, sum: p.Sum}
	for _, part := range []func(*orchestration.Context) error{r.sequence, r.fan, r.rest, r.word, r.child} {
		if err := part(ctx); err != nil {
			return 0, err
		}
	}
	if p.Round++; p.Round < p.Rounds {
		p.Sum = r.sum
		return 0, orchestration.ContinueAsNew(ctx, p)
	}
	if p.Fail {
		_, err := orchestration.CallActivity(ctx, Break, p.Seed, retry())
		return 0, fmt.Errorf("plan %d: %w", p.Seed, err)
	}
	return r.sum, nil
}

type round struct {
	plan Plan
	sum  uint64
}

// fold depends on the order, so that a result that is lost, doubled or swapped shows.
func (r *round) fold(v uint64) { r.sum = r.sum*31 + v }

func (r *round) call(step int) Call {
	return Call{Seed: r.plan.Seed, Round: r.plan.Round, Step: step, Failures: (int(r.plan.Seed%7) + step) % 3}
}

func (r *round) sequence(ctx *orchestration.Context) error {
	for step := range r.plan.Steps {
		v, err := orchestration.CallActivity(ctx, Mix, r.call(step), retry())
		if err != nil {
			return err
		}
		r.fold(v)
	}
	return nil
}

func (r *round) fan(ctx *orchestration.Context) error {
	futures := make([]orchestration.Future[uint64], r.plan.Width)
	for i := range futures {
		futures[i] = orchestration.StartActivity(ctx, Mix, r.call(100+i), retry())
	}
	values, err := orchestration.All(ctx, futures...)
	for _, v := range values {
		r.fold(v)
	}
	return err
}

func (r *round) rest(ctx *orchestration.Context) error {
	return ctx.Sleep(time.Duration(100+r.plan.Seed%200) * time.Millisecond)
}

func (r *round) word(ctx *orchestration.Context) error {
	v, err := orchestration.Events[uint64](ctx, WordEvent).Receive(ctx)
	r.fold(v)
	return err
}

func (r *round) child(ctx *orchestration.Context) error {
	v, err := orchestration.CallOrchestration(ctx, Leaf, r.call(200))
	r.fold(v)
	return err
}

// Leaf is the child of a round.
func Leaf(ctx *orchestration.Context, c Call) (uint64, error) {
	return orchestration.CallActivity(ctx, Mix, c, retry())
}

// Mix computes a number from its input, after the failures asked for.
func Mix(ctx context.Context, c Call) (uint64, error) {
	timer := time.NewTimer(time.Duration(5+c.Seed%20) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if attempt := activity.GetInfo(ctx).Attempt; attempt <= c.Failures {
		return 0, fmt.Errorf("attempt %d of %+v fails on purpose", attempt, c)
	}
	return (c.Seed<<20 + uint64(c.Round)<<10 + uint64(c.Step)) * 2_654_435_761, nil
}

// Break fails for good.
func Break(context.Context, uint64) (orchestration.None, error) {
	return orchestration.None{}, orchestration.NonRetryable(ErrBroken)
}

func retry() orchestration.ActivityOption {
	return orchestration.WithRetry(orchestration.RetryPolicy{
		MaxAttempts: 4, InitialInterval: 20 * time.Millisecond, MaxInterval: 100 * time.Millisecond,
	})
}
