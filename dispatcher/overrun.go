package dispatcher

import (
	"context"
	"fmt"
	"runtime/debug"
)

// tooManyLeaks is called once, when more instances than MaxLeaked have leaked code: nothing that a
// node can do ends a goroutine. Without OnFatal it is told by the log and by Fatal, and the node goes on. With it
// the node shuts down, so that others take its work, and OnFatal is told why.
func (d *Dispatcher) tooManyLeaks(instances int) {
	if d.stopping.Load() {
		return
	}
	reason := fmt.Errorf("%w: code of %d instances, the limit is %d", ErrTooManyLeaks, instances, d.cfg.MaxLeaked)
	d.fatal.Store(&reason)
	d.cfg.Logger.Error("too much work does not come back: the process should be restarted", "err", reason, "shutting_down", d.cfg.OnFatal != nil)
	if d.cfg.OnFatal == nil {
		return
	}
	close(d.overrun)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				d.cfg.Logger.Error("OnFatal panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		d.cfg.OnFatal(reason)
	}()
}

// endOnOverrun shuts the node down when it has too many leaks. It ends with the node.
func (d *Dispatcher) endOnOverrun(working context.Context) {
	select {
	case <-d.overrun:
		_ = d.Shutdown(context.WithoutCancel(working)) // who else calls it gets the answer
	case <-d.stopped:
	}
}

// Fatal answers why this node can no longer be trusted with work; nil: it can.
func (d *Dispatcher) Fatal() error {
	if reason := d.fatal.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Leaked answers the user code that should have come back and has not, the oldest first.
func (d *Dispatcher) Leaked() []LeakedWork { return d.watchdog.list() }
