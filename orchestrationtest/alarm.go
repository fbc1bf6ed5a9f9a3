package orchestrationtest

import "sync/atomic"

// alarm tells a bubble from outside that its test must end. It is read at each call of the store: nothing outside may close a channel of a
// bubble.
type alarm struct {
	calls atomic.Int64 // of the store, that have begun or ended
	state atomic.Int32
}

const (
	alarmLate      int32 = iota + 1 // the binary has little time left
	alarmTold                       // the bubble knows that
	alarmAbandoned                  // the test ends without the bubble
)

// step counts a call of the store.
func (a *alarm) step() { a.calls.Add(1) }

// late says that little time is left. It reports false if that was said.
func (a *alarm) late() bool { return a.state.CompareAndSwap(0, alarmLate) }

// told reports whether the caller is the first that sees that little time is left.
func (a *alarm) told() bool { return a.state.CompareAndSwap(alarmLate, alarmTold) }

// abandon says that nobody waits for the bubble any more.
func (a *alarm) abandon() { a.state.Store(alarmAbandoned) }

func (a *alarm) abandoned() bool { return a.state.Load() == alarmAbandoned }
