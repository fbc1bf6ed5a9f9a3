package simulation

import (
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// world is what is outside of the engine: the effects of activities, and what clients have seen.
type world struct {
	mu      sync.Mutex
	effects map[string][]int // the numbers that attempts took, by effect
	begins  map[string]int   // how often code began
	told    map[string][]int // values with which an activity was ended from outside, as acknowledged
	later   func(effect, token string, value int)
	number  int
	seen    map[string]*seen // by instance ID
	wrong   []string
}

func newWorld() *world {
	return &world{effects: make(map[string][]int), begins: make(map[string]int), told: make(map[string][]int), seen: make(map[string]*seen)}
}

// seen is what clients know of an instance.
type seen struct {
	keys    []provider.UUID   // that starts have returned
	sent    []Send            // events and notes that were acknowledged, in the order of each client
	answers map[string]Answer // outcomes of updates
	acted   bool              // the act was acknowledged
	tried   bool              // the act was begun
}

// take takes the next number for an effect.
func (w *world) take(effect string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	w.effects[effect] = append(w.effects[effect], w.number)
	return w.number
}

func (w *world) begun(effect string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begins[effect]++
}

// of gives access to what is known of an instance.
func (w *world) of(id string, do func(s *seen)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[id] == nil {
		w.seen[id] = &seen{answers: make(map[string]Answer)}
	}
	do(w.seen[id])
}

// wrongf notes what must not be.
func (w *world) wrongf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// failed reports whether something is wrong.
func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wrong) > 0
}

// clock is the store's clock, which may be ahead of that of the nodes.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now implements memory.Source.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Timer implements memory.Source.
func (c *clock) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// step moves the clock forward.
func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}
