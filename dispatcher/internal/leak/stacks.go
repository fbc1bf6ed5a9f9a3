package leak

import (
	"sync"
	"time"

	"github.com/perdure/perdure/internal/platform/goroutine"
)

// dump is the stacks of the listed code, kept for a moment: leaks often come in groups, and each sample stops the world.
type dump struct {
	mu     sync.Mutex
	taken  time.Time
	stacks map[uint64]string
}

const dumpAge = time.Second

// sampleStack returns where the code is now, and keeps it in the list.
func (w *Watchdog) sampleStack(c *Code) string {
	stack := w.stack(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Stack = stack
	return stack
}

// stack returns where the goroutine of listed code is, at most dumpAge ago.
func (w *Watchdog) stack(c *Code) string {
	id := c.goroutine.Load()
	w.dump.mu.Lock()
	defer w.dump.mu.Unlock()
	if _, ok := w.dump.stacks[id]; !ok || time.Since(w.dump.taken) > dumpAge {
		ids := w.goroutines()
		w.dump.taken, w.dump.stacks = time.Now(), goroutine.Stacks(ids...)
		for _, id := range ids { // not looked for again if it has ended
			w.dump.stacks[id] += ""
		}
	}
	return w.dump.stacks[id]
}

func (w *Watchdog) goroutines() []uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]uint64, 0, len(w.all))
	for c := range w.all {
		ids = append(ids, c.goroutine.Load())
	}
	return ids
}
