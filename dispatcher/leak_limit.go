package dispatcher

import (
	"fmt"
	"runtime/debug"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/internal/failure"
)

// ErrLeaked is part of the error of Shutdown if user code did not end in time. The error names the code. Its leases were released.
var ErrLeaked = failure.ErrLeaked

// ErrTooManyLeaks is the reason given to OnFatal: more instances than MaxLeaked have leaked code.
var ErrTooManyLeaks = failure.ErrTooManyLeaks

// LeakedWork is user code that should have returned and has not.
type LeakedWork = leak.Work

// tooManyLeaks is called once, when more instances than MaxLeaked have leaked code. A node cannot end a goroutine. Without OnFatal, it
// reports that in the log and by Fatal, and goes on. With OnFatal, it shuts down so that other nodes take its work.
func (d *Dispatcher) tooManyLeaks(instances int) {
	if d.node.Stopping.Load() {
		return
	}
	reason := fmt.Errorf("%w: code of %d instances, the limit is %d", ErrTooManyLeaks, instances, d.node.Config.MaxLeaked)
	d.fatal.Store(&reason)
	d.node.Config.Logger.Error("too many leaked goroutines; restart the process", "err", reason, "shutting_down", d.node.Config.OnFatal != nil)
	if d.node.Config.OnFatal == nil {
		return
	}
	close(d.leakLimit)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				d.node.Config.Logger.Error("OnFatal panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		d.node.Config.OnFatal(reason)
	}()
}

// Fatal returns why this node can no longer be trusted with work; nil if it can.
func (d *Dispatcher) Fatal() error {
	if reason := d.fatal.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Leaked returns the user code that should have returned and has not, the oldest first.
func (d *Dispatcher) Leaked() []LeakedWork { return d.node.Watchdog.List() }
