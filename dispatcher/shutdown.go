package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
)

// handBackTimeout limits how long Shutdown tries to release leases, even if its context is done.
const handBackTimeout = 5 * time.Second

// handBackPause is how long Shutdown waits before it looks again for leases to release.
const handBackPause = 50 * time.Millisecond

// Shutdown ends the node in phases. It takes no new work. Turns and running activities may finish within the drain timeout. Then it cancels
// activities with ErrShutdown and waits for the force timeout. Then it releases all leases. Then it waits for code that has not returned,
// for the watchdog timeout. If the ctx of any caller is done, it skips the waits. It returns ErrLeaked for code that still runs, and
// ErrTooManyLeaks if that is why the node shut itself down. Further calls return the same.
func (d *Dispatcher) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, d.skipWaits)()
	if !d.node.Stopping.Swap(true) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer cancel()
			select {
			case <-d.waitsSkipped:
			case <-ctx.Done():
			}
		}()
		d.shutdownErr = d.shutDown(ctx)
		if d.node.Config.OnFatal != nil {
			d.shutdownErr = errors.Join(d.Fatal(), d.shutdownErr)
		}
		close(d.stopped)
	}
	<-d.stopped // a sync.Once would hold up virtual time
	return d.shutdownErr
}

func (d *Dispatcher) shutDown(ctx context.Context) error {
	d.fetching.end()
	// The user's ctx may be done at any time; releasing leases has its own.
	d.releaseUnstarted(context.WithoutCancel(ctx))
	if !d.waitFor(ctx, d.node.Config.DrainTimeout) {
		d.locals.CancelAll(activity.ErrShutdown)
		for _, a := range d.node.Manage.Running() {
			a.Cancel(activity.ErrShutdown)
		}
		d.waitFor(ctx, d.node.Config.ForceTimeout)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	defer cancel()
	d.turns.CloseCache()
	err := error(nil)
	handedBack := d.handBackAll(last)
	d.node.Manage.LeaveSessions(last)
	if !handedBack {
		err = fmt.Errorf("%w: work in progress, whose leases could not be handed back within %v", ErrLeaked, handBackTimeout)
	}
	// Code that was cancelled only now has a moment, even if ctx is done.
	if !d.node.Watchdog.Wait(ctx, d.node.Config.WatchdogTimeout) && !d.node.Watchdog.Wait(last, handBackPause) {
		err = errors.Join(err, d.node.Watchdog.Err())
	}
	d.stopWorking()
	d.node.Watchdog.Close()
	d.loops.Wait()
	return err
}

// handBackAll releases leases until nothing is in flight: a turn that ends only now may have started further attempts. Turns have half of
// the time to return. It returns false if ctx was done before.
func (d *Dispatcher) handBackAll(ctx context.Context) bool {
	patience := time.Now().Add(handBackTimeout / 2)
	for ctx.Err() == nil {
		d.handBack(ctx)
		if time.Now().After(patience) {
			d.turns.HandBack(ctx)
		}
		if d.waitFor(ctx, handBackPause) {
			return ctx.Err() == nil
		}
	}
	return false
}

// waitFor waits until no turn and no attempt is in flight, for at most the limit.
func (d *Dispatcher) waitFor(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.node.Work.Wait(ctx)
}

// handBack releases the leases of attempts whose code still runs, so that another node can begin at once. They do not count as attempts.
func (d *Dispatcher) handBack(ctx context.Context) {
	for _, a := range d.node.Manage.Running() {
		a.Cancel(activity.ErrShutdown)
		a.Owner.Leave(ctx)
	}
}

// shutDownOnLeaks shuts the node down when it has too many leaks. It ends with the node.
func (d *Dispatcher) shutDownOnLeaks(working context.Context) {
	select {
	case <-d.leakLimit:
		_ = d.Shutdown(context.WithoutCancel(working)) // other callers of Shutdown return the error
	case <-d.stopped:
	}
}
