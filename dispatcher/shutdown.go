package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
)

// handBackTimeout bounds how long Shutdown works on handing leases back, also when its
// context is finished.
const handBackTimeout = 5 * time.Second

// handBackPause is how long Shutdown waits before it looks again for what it can hand back.
const handBackPause = 50 * time.Millisecond

// Shutdown ends the node in phases: no new work is taken; turns finish and running
// activities may, for the drain timeout; then activities are cancelled with ErrShutdown and
// have the force timeout; then all leases are released; then code that has not returned is
// waited for, for the watchdog timeout. A finished ctx, of any caller, skips the waits.
// It returns an ErrLeaked for all that has not ended even so, and ErrTooManyLeaks if that is why the
// node shut itself down. Further calls return the same.
func (d *Dispatcher) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, d.hurry)()
	if !d.node.Stopping.Swap(true) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer cancel()
			select {
			case <-d.hurried:
			case <-ctx.Done():
			}
		}()
		d.shutdownErr = d.shutDown(ctx)
		if d.node.Config.OnFatal != nil {
			d.shutdownErr = errors.Join(d.Fatal(), d.shutdownErr)
		}
		close(d.stopped)
	}
	<-d.stopped // not a sync.Once, in which a caller would hold up virtual time
	return d.shutdownErr
}

func (d *Dispatcher) shutDown(ctx context.Context) error {
	d.stopFetching()
	// The user's ctx may be long finished, or finish at any time: handing back has its own.
	fetched, done := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	d.node.Fetchers.Wait(fetched)
	d.turns.ReleaseClaims(fetched)
	done()
	d.turns.UnpinAll(context.WithoutCancel(ctx)) // what comes while this node drains is for others
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
	// What was cancelled only now has a moment, whatever ctx says.
	if !d.node.Watchdog.Wait(ctx, d.node.Config.WatchdogTimeout) && !d.node.Watchdog.Wait(last, handBackPause) {
		err = errors.Join(err, d.node.Watchdog.Err())
	}
	d.stopWorking()
	d.node.Watchdog.Close()
	d.loops.Wait()
	return err
}

// handBackAll hands back until nothing is in flight: a turn that ends only now may have
// started further attempts. Turns get half of the time to return. It reports false if ctx was finished before.
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

// waitFor waits until no turn and no attempt is in flight, for at most the given time and ctx.
func (d *Dispatcher) waitFor(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.node.Work.Wait(ctx)
}

// handBack releases the leases of attempts whose code still runs, without a count, so
// that another node can begin at once.
func (d *Dispatcher) handBack(ctx context.Context) {
	for _, a := range d.node.Manage.Running() {
		a.Cancel(activity.ErrShutdown)
		a.Owner.Leave(ctx)
	}
}
