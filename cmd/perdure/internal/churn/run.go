package churn

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Run runs one round of a plan and continues as new with the next.
func Run(ctx *orchestration.Context, p Plan) (uint64, error) {
	r := &round{plan: p, sum: p.Sum}
	r.handle(ctx)
	if err := r.run(ctx); err != nil {
		// After a cancellation it cleans up with a detached activity.
		_, undo := r.call(ctx.Detached(), mixName, stepUndo)
		return 0, errors.Join(err, undo)
	}
	if p.Round++; p.Round < p.Rounds {
		p.Sum = r.sum
		return 0, orchestration.ContinueAsNew(ctx, p)
	}
	if p.End == EndBroken {
		_, err := r.call(ctx, breakName, stepBreak)
		return 0, fmt.Errorf("plan %d: %w", p.Seed, err)
	}
	return r.sum, nil
}

// The steps of a round that are not counted from 0.
const (
	stepFan   = 100
	stepLeaf  = 200
	stepHaul  = 300
	stepBreak = 400
	stepUndo  = 401
)

// round is one execution of a plan.
type round struct {
	plan Plan
	sum  uint64
}

// handle registers what others may ask for meanwhile. It changes nothing of the sum.
func (r *round) handle(ctx *orchestration.Context) {
	orchestration.HandleUpdate(ctx, BonusUpdate, func(ctx *orchestration.Context, n int) (uint64, error) {
		return r.call(ctx, mixName, StepBonus+n)
	})
	orchestration.HandleQuery(ctx, SumQuery, func(orchestration.None) (uint64, error) { return r.sum, nil })
}

func (r *round) run(ctx *orchestration.Context) error {
	if r.plan.Seed%4 == 1 {
		_ = orchestration.StartOrchestration(ctx, Linger, r.plan.Seed) // the end of the round cancels it
	}
	parts := []func(*orchestration.Context) error{r.sequence, r.fan, r.haul, r.idle, r.word, r.child, r.broken}
	// Each plan has the parts in another order, so that kills hit all boundaries between them.
	turn := int(r.plan.Seed+uint64(r.plan.Round)) % len(parts)
	for _, part := range append(parts[turn:], parts[:turn]...) {
		if err := part(ctx); err != nil {
			return err
		}
	}
	if r.plan.Seed%4 == 3 {
		_ = orchestration.StartOrchestration(ctx, Linger, r.plan.Seed) // in the very turn that ends the round
	}
	if r.plan.End == EndWaits && r.plan.Round == r.plan.Rounds-1 {
		_, err := orchestration.Events[uint64](ctx, NeverEvent).Receive(ctx)
		return err
	}
	return nil
}

// fold depends on the order, so that a lost, duplicated or swapped result changes the sum.
func (r *round) fold(v uint64) { r.sum = r.sum*31 + v }

func (r *round) input(step int) Call {
	return Call{Seed: r.plan.Seed, Round: r.plan.Round, Step: step, Failures: (int(r.plan.Seed%7) + step) % 3, Parts: r.plan.Haul}
}

func (r *round) call(ctx *orchestration.Context, name string, step int) (uint64, error) {
	answer, err := start(ctx, name, r.input(step)).Get(ctx)
	return answer.Value, err
}

// start schedules an activity with exactly as many attempts as it needs. If a kill used up an attempt, the call would
// fail.
func start(ctx *orchestration.Context, name string, c Call) orchestration.Future[Answer] {
	return orchestration.StartActivityNamed[Answer](ctx, name, c, orchestration.WithRetry(orchestration.RetryPolicy{
		MaxAttempts: c.Failures + 1, InitialInterval: 20 * time.Millisecond, MaxInterval: 100 * time.Millisecond,
	}))
}

func (r *round) sequence(ctx *orchestration.Context) error {
	for step := range r.plan.Steps {
		v, err := r.call(ctx, mixName, step)
		if err != nil {
			return err
		}
		r.fold(v)
	}
	return nil
}

func (r *round) fan(ctx *orchestration.Context) error {
	futures := make([]orchestration.Future[Answer], r.plan.Width)
	for i := range futures {
		futures[i] = start(ctx, mixName, r.input(stepFan+i))
	}
	answers, err := orchestration.All(ctx, futures...)
	for _, a := range answers {
		r.fold(a.Value)
	}
	return err
}

func (r *round) haul(ctx *orchestration.Context) error {
	if r.plan.Haul == 0 || r.plan.Round > 0 {
		return nil
	}
	v, err := r.call(ctx, haulName, stepHaul)
	r.fold(v)
	return err
}

// idle selects between an event that is never sent and a timer.
func (r *round) idle(ctx *orchestration.Context) error {
	timer := orchestration.StartTimer(ctx, time.Duration(50+r.plan.Seed%150)*time.Millisecond)
	first, err := orchestration.Select(ctx, orchestration.Events[uint64](ctx, NeverEvent), timer)
	r.fold(uint64(first))
	return err
}

// word selects between an event that is sent and a timer of an hour. Plans with an odd seed do not cancel the timer.
func (r *round) word(ctx *orchestration.Context) error {
	words, timer := orchestration.Events[uint64](ctx, WordEvent), orchestration.StartTimer(ctx, time.Hour)
	first, err := orchestration.Select(ctx, words, timer)
	if err != nil {
		return err
	}
	if r.plan.Seed%2 == 0 {
		timer.Cancel()
	}
	v, err := words.Receive(ctx)
	r.fold(v + uint64(first))
	return err
}

func (r *round) child(ctx *orchestration.Context) error {
	var opts []orchestration.ChildOption
	if r.plan.Seed%3 == 0 {
		opts = append(opts, orchestration.WithInstanceID(fmt.Sprintf("leaf-%d-%d", r.plan.Seed, r.plan.Round)))
	}
	v, err := orchestration.CallOrchestration(ctx, Leaf, r.input(stepLeaf), opts...)
	r.fold(v)
	return err
}

// broken calls a child that fails, and continues.
func (r *round) broken(ctx *orchestration.Context) error {
	if r.plan.Seed%5 != 0 {
		return nil
	}
	_, err := orchestration.CallOrchestration(ctx, Broken, r.input(stepBreak))
	if errors.Is(err, ErrBroken) {
		r.fold(stepBreak)
		return nil
	}
	return fmt.Errorf("failing child returned: %w", err)
}

// Leaf is the child of a round. In its first step it has a child, too.
func Leaf(ctx *orchestration.Context, c Call) (uint64, error) {
	if c.Step == stepLeaf {
		c.Step++
		below, err := orchestration.CallOrchestration(ctx, Leaf, c)
		if err != nil {
			return 0, err
		}
		c.Step--
		answer, err := start(ctx, mixName, c).Get(ctx)
		return answer.Value ^ below, err
	}
	answer, err := start(ctx, mixName, c).Get(ctx)
	return answer.Value, err
}

// Broken is a child that fails.
func Broken(ctx *orchestration.Context, c Call) (uint64, error) {
	_, err := start(ctx, breakName, c).Get(ctx)
	return 0, err
}

// Linger is a child that waits until it is cancelled.
func Linger(ctx *orchestration.Context, _ uint64) (uint64, error) {
	return orchestration.Events[uint64](ctx, NeverEvent).Receive(ctx)
}
