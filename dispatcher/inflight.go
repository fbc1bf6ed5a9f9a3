package dispatcher

import (
	"context"
	"sync"
)

// inFlight counts work in progress. It differs from a WaitGroup in that a wait can be
// given up, and that work which does not come back is taken out while others wait.
type inFlight struct {
	mu    sync.Mutex
	count int
	idle  chan struct{} // closed when count falls to zero; nil while nobody waits
}

func (f *inFlight) add() {
	f.mu.Lock()
	f.count++
	f.mu.Unlock()
}

func (f *inFlight) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	if f.count == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait blocks until nothing is in flight, or until ctx is finished and tells so by false.
func (f *inFlight) wait(ctx context.Context) bool {
	f.mu.Lock()
	if f.count == 0 {
		f.mu.Unlock()
		return true
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
