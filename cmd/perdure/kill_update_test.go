package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/orchestration"
)

// bonus is an update that a client of a plan has sent.
type bonus struct {
	n        int
	handle   client.UpdateHandle[uint64]
	accepted bool // the client was told so
}

// glance is how long a client waits for an update or an answer while workers die. Most get none in time.
const glance = 100 * time.Millisecond

// bonus returns a function that sends an update. Some callers wait until it is accepted.
func (o *course) bonus(n int, waits bool) func(context.Context) error {
	return func(ctx context.Context) error {
		id := client.WithUpdateID(fmt.Sprint("bonus ", n))
		h, err := client.SendUpdate[uint64](ctx, o.handle, churn.BonusUpdate, n, id)
		if errors.Is(err, client.ErrEnded) || errors.Is(err, client.ErrNotFinished) {
			return nil // the plan ended before, or no worker has used the store yet
		}
		if err != nil {
			return err
		}
		b := bonus{n: n, handle: h}
		if waits {
			brief, cancel := context.WithTimeout(ctx, glance)
			defer cancel()
			_, err := client.Update[uint64](brief, o.handle, churn.BonusUpdate, n, id, client.UntilAccepted())
			b.accepted = err == nil
		}
		o.bonuses = append(o.bonuses, b)
		return nil
	}
}

// ask asks for the sum so far. The answer does not count: the plan must end as if nobody had asked.
func (o *course) ask(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	_, err := client.Query[uint64](brief, o.handle, churn.SumQuery, nil)
	neverBegan := o.stopped && errors.Is(err, client.ErrUnknownQuery) // it was terminated before
	if errors.Is(err, client.ErrNotReplayed) || errors.Is(err, client.ErrUnknownQuery) && !neverBegan {
		return fmt.Errorf("%s: %w", o.id(), err)
	}
	return nil
}

// checkUpdates checks that each update that was sent ran once, or that its caller is told why it did not.
func (k *killing) checkUpdates(ctx context.Context) {
	k.t.Helper()
	sent, done := 0, 0
	for _, o := range k.courses {
		ran, err := o.bonusesRun(ctx)
		if err != nil {
			k.t.Errorf("%s: %v", o.id(), err)
		}
		for _, b := range o.bonuses {
			sent++
			out, err := b.handle.Wait(ctx)
			if err == nil {
				done++
			}
			if err := o.checkBonus(b, ran[b.n], out, err); err != nil {
				k.t.Errorf("%s, bonus %d: it ran %d times, and its outcome is %v", o.id(), b.n, ran[b.n], err)
			}
		}
	}
	k.t.Logf("%d of %d updates completed, the others came too late or were stopped with their plans", done, sent)
	if done*2 < sent || sent*4 < len(k.courses) {
		k.t.Errorf("%d of %d updates of %d plans completed, must be half of them", done, sent, len(k.courses))
	}
}

// bonusesRun counts how often the activity of each bonus was scheduled in all executions.
func (o *course) bonusesRun(ctx context.Context) (map[int]int, error) {
	d, err := o.handle.Describe(ctx)
	if err != nil {
		return nil, err
	}
	ran := make(map[int]int)
	for n := int64(1); n <= d.Execution; n++ {
		for e, err := range o.handle.History(ctx, n) {
			if err != nil {
				return nil, err
			}
			var c churn.Call
			if e.Kind != "ActivityScheduled" || json.Unmarshal(e.Input, &c) != nil || c.Step < churn.StepBonus {
				continue
			}
			ran[c.Step-churn.StepBonus]++
		}
	}
	return ran, nil
}

// checkBonus judges the outcome of an update, and how often its handler ran.
func (o *course) checkBonus(b bonus, ran int, out uint64, err error) error {
	want := (o.plan.Seed<<20 + uint64(churn.StepBonus+b.n)) * 2654435761
	const rounds = 1 << 10 * 2654435761 // what each round adds
	late := errors.Is(err, client.ErrEnded) || errors.Is(err, client.ErrClosing)
	switch {
	case ran > 1:
		return fmt.Errorf("%w, must run once", err)
	case errors.Is(err, client.ErrNotCarried): // the round was over, and the sum does not depend on it
		return o.checkBonus(b, ran, out, nil)
	case err == nil && (ran == 0 || (out-want)%rounds != 0 || (out-want)/rounds >= uint64(o.plan.Rounds)):
		return fmt.Errorf("%d, must be that of a run", out)
	case err == nil:
		return nil
	case late && !b.accepted && ran == 0:
		return nil
	case o.stopped && (late || errors.Is(err, client.ErrAbandoned) || errors.Is(err, orchestration.ErrCancelled)):
		return nil
	default:
		return err
	}
}
