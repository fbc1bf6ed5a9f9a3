package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// handBackTimeout bounds how long Shutdown works on handing leases back, also when its
// context is finished.
const handBackTimeout = 5 * time.Second

// handBackPause is how long Shutdown waits before it looks again for what it can hand back.
const handBackPause = 50 * time.Millisecond

// ErrLeaked is answered by Shutdown if activities or turns did not end in time; their
// leases were handed back all the same.
var ErrLeaked = errors.New("work was left running")

// Shutdown ends the node in phases: no new work is taken; turns finish and running
// activities may, for the drain timeout; then activities are cancelled with ErrShutdown and
// have the grace period; then all leases are handed back. A finished ctx skips the waits.
// It answers ErrLeaked if something did not end. Further calls answer the same.
func (d *Dispatcher) Shutdown(ctx context.Context) error {
	d.shutdown.Do(func() { d.shutdownErr = d.shutDown(ctx) })
	return d.shutdownErr
}

func (d *Dispatcher) shutDown(ctx context.Context) error {
	d.stopping.Store(true)
	d.stopFetching()
	// The user's ctx may be long finished, or finish at any time: handing back has its own.
	fetched, done := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	d.fetchers.wait(fetched)
	done()
	if !d.waitFor(ctx, d.cfg.DrainTimeout) {
		for _, h := range d.manage.snapshot() {
			h.a.cancel(errShutdown)
		}
		d.waitFor(ctx, d.cfg.GracePeriod)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	defer cancel()
	for _, x := range d.actors.clear() {
		d.close(x)
	}
	closed := d.handBackAll(last)
	d.stopWorking()
	d.loops.Wait()
	if !closed || d.left.Load() > 0 {
		return ErrLeaked
	}
	return nil
}

// handBackAll hands back until nothing is in flight: a turn that ends only now may have
// started further attempts. Turns get half of the time to come back. It answers false if ctx was finished before.
func (d *Dispatcher) handBackAll(ctx context.Context) bool {
	patience := time.Now().Add(handBackTimeout / 2)
	for ctx.Err() == nil {
		d.handBack(ctx)
		if time.Now().After(patience) {
			d.handBackTurns(ctx)
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
	return d.work.wait(ctx)
}

// handBack releases the leases of attempts whose code still runs, without a count, so
// that another node can begin at once.
func (d *Dispatcher) handBack(ctx context.Context) {
	for _, h := range d.manage.snapshot() {
		h.a.cancel(errShutdown)
		given, code, ok := h.a.life.end(errShutdown)
		if !ok {
			continue
		}
		if d.leaveCode(code) {
			d.cfg.Logger.Warn("activity still runs at shutdown: lease handed back", "activity", h.a.call.Name, "instance", h.a.instanceID)
		}
		if given == nil {
			given = &outcome{err: errShutdown}
		}
		d.settle(ctx, h.a, errShutdown, given.output, given.err)
	}
}

// handBackTurns does the same for turns whose code does not come back.
func (d *Dispatcher) handBackTurns(ctx context.Context) {
	for _, r := range d.watch.all() {
		if r.x.Load().InCode() {
			d.leave(ctx, r, func() { d.release(ctx, r, provider.TurnRelease{}) })
		}
	}
}
