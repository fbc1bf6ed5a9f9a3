package replay

import "sync/atomic"

// Probe looks at an execution from outside while its code runs, which may never return. Any goroutine may use it at any time.
type Probe struct {
	sched   *scheduler
	effects *atomic.Int64
}

// Probe returns the execution's probe.
func (x *Execution) Probe() Probe { return Probe{sched: &x.sched, effects: &x.events.effects} }

// Progress grows with every resume and every call of code into the engine. If it stays the same while a turn is in
// progress, user code is stuck.
func (p Probe) Progress() int64 { return p.sched.progress.Load() }

// Effects grows with every message that is applied, every command and every event that code takes from a mailbox. Their
// number is bounded for one message. If Effects stays the same while Progress grows, code calls the engine without ever
// waiting for anything.
func (p Probe) Effects() int64 { return p.effects.Load() }

// InCode reports whether a coroutine is running now.
func (p Probe) InCode() bool { return p.sched.current.Load() != nil }

// Goroutine returns the number of the goroutine whose user code is running now or being unwound, 0 if there is none.
func (p Probe) Goroutine() uint64 { return p.sched.goroutine() }

// Stack returns the stack of the coroutine that is running now, "" if none is. It stops the world for a moment.
func (p Probe) Stack() string { return p.sched.stack() }

// Abandon gives up an execution whose code is stuck in a resume: its goroutine ends at its next call into the engine.
func (p Probe) Abandon() { p.sched.closed.Store(true) }
