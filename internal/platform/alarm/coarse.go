package alarm

import (
	"sync"
	"time"
)

// coarse is an alarm by a timer of Go.
type coarse struct {
	timer *time.Timer
	one   sync.Mutex // held while it rings
	over  bool
}

func newCoarse(ring func()) *coarse {
	a := &coarse{}
	a.timer = time.AfterFunc(time.Hour, func() {
		a.one.Lock()
		defer a.one.Unlock()
		if !a.over {
			ring()
		}
	})
	a.timer.Stop()
	return a
}

func (a *coarse) Set(d time.Duration) { a.timer.Reset(d) }

func (a *coarse) Stop() {
	a.timer.Stop()
	a.one.Lock()
	a.over = true
	a.one.Unlock()
}
