// Package lock lets instances take turns at a resource that bears only one of them. The lock is an instance, too: orchestration.StartDetached
// starts it, and orchestration.Raise asks for it and gives it back. It serves in the order of the requests, for years.
package lock

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Lease is how long a holder may keep the lock. One that was terminated gives nothing back.
const Lease = 24 * time.Hour

// page is how many holders one execution serves. It keeps the history short.
const page = 500

// Serve gives the lock to those that ask, one after the other.
func Serve(ctx *orchestration.Context, _ orchestration.None) (orchestration.None, error) {
	asked := orchestration.Events[string](ctx, "acquire")
	released := orchestration.Events[string](ctx, "release")
	for range page {
		holder, err := asked.Receive(ctx)
		if err != nil {
			return orchestration.None{}, err
		}
		if _, err := orchestration.Raise(ctx, holder, "granted", nil).Get(ctx); err != nil {
			continue // it has ended while it waited
		}
		for until, by := ctx.Now().Add(Lease), ""; by != holder; {
			by, err = released.Receive(ctx, orchestration.Within(until.Sub(ctx.Now())))
			if errors.Is(err, orchestration.ErrTimeout) {
				ctx.Logger().Warn("the lease has expired", "holder", holder)
				break
			}
			if err != nil {
				return orchestration.None{}, err
			}
		}
	}
	return orchestration.None{}, orchestration.ContinueAsNew(ctx, orchestration.None{})
}

// Print is a job for a printer that can do one at a time.
func Print(ctx *orchestration.Context, printer string) (time.Time, error) {
	lock, me := "lock/"+printer, ctx.Info().ID
	_, err := orchestration.StartDetached(ctx, Serve, orchestration.None{}, orchestration.WithInstanceID(lock)).Get(ctx)
	if err != nil && !errors.Is(err, orchestration.ErrExists) {
		return time.Time{}, err
	}
	if _, err := orchestration.Raise(ctx, lock, "acquire", me).Get(ctx); err != nil {
		return time.Time{}, err
	}
	defer orchestration.Raise(ctx.Detached(), lock, "release", me) // also if this job was cancelled while it waited
	if _, err := orchestration.Events[orchestration.None](ctx, "granted").Receive(ctx); err != nil {
		return time.Time{}, err
	}
	_, err = orchestration.CallActivity(ctx, Feed, printer)
	return ctx.Now(), err
}

// Feed stands for the work.
func Feed(ctx context.Context, printer string) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "feed", "printer", printer)
	return activity.None{}, nil
}
