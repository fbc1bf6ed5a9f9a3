package programs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
)

// hold suspends the program for a while, now and then, and resumes it. The program must end as if nobody had.
func (r *run) hold(ctx context.Context, h client.Handle[[]string], chance *rand.Rand) error {
	for range chance.IntN(3) {
		if !pause(ctx, time.Duration(chance.IntN(20))*r.moment) {
			return nil
		}
		err := h.Suspend(ctx, "a pause")
		if err == nil {
			r.sum.holds.Add(1)
			pause(ctx, time.Duration(chance.IntN(20))*r.moment)
			err = h.Resume(context.WithoutCancel(ctx), "it is over")
		}
		if err != nil && !errors.Is(err, client.ErrEnded) && ctx.Err() == nil {
			return fmt.Errorf("suspending and resuming: %w", err)
		}
	}
	return nil
}

// restart runs a program that has ended once more, from the beginning. It must end as before.
func (r *run) restart(ctx context.Context, h client.Handle[[]string], p Program, before Outcome, chance *rand.Rand) error {
	again, err := h.Restart(ctx, "to compare")
	if err != nil {
		return err
	}
	r.sum.restarts.Add(1)
	called := make(chan error, 1)
	go func() {
		r.sendEarly(ctx, again, p.Events, chance)
		called <- r.callAll(ctx, again, p, chance)
	}()
	o, err := r.await(ctx, again)
	if err = errors.Join(err, <-called); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	if diff := cmp.Diff(before, o); diff != "" {
		return fmt.Errorf("after a restart (-before +after):\n%s", diff)
	}
	return nil
}
