package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// errLost is the cause of each error that the gate makes.
var errLost = errors.New("the simulation has cut the connection")

// lost is the error of a call that may have been carried out.
func lost(op string) error {
	return &provider.Error{Op: op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: errLost}
}

// fate says what becomes of a call that has stopped.
type fate uint8

const (
	goOn       fate = iota + 1
	goLate          // it is carried out, and its reply stops once more
	failBefore      // it is not carried out, and its caller cannot know
	failAfter       // it is carried out, and its caller cannot know
	dieBefore       // its caller is dead
	dieAfter        // its caller is dead, and the call was carried out
	open            // the simulation is over: nothing stops any more
)

// call is a call that stops at the gate.
type call struct {
	of    *handle
	op    string
	req   any
	place int    // among all that have stopped, in an order that repeats
	label string // the same in each run of a seed
	reply bool   // it was carried out

	poll   func() (over bool) // of a call that waits for something; nil: of any other
	looked uint64             // state of the store in which poll found nothing
	from   time.Time          // when the seed lets it go on
	chosen chan fate          // has one place
	over   bool               // something was chosen, or the caller has left
}

// gate is where calls stop.
type gate struct {
	names *names

	mu      sync.Mutex
	waiting []*call
	places  int
	state   uint64 // changes with the store and with time
	opened  bool
	trace   []string
	began   time.Time
}

func newGate() *gate {
	return &gate{names: newNames(), state: 1, began: time.Now()}
}

// stop waits until the seed lets the call go on. It reports false if ctx has ended before.
func (g *gate) stop(ctx context.Context, c *call) (fate, bool) {
	c.chosen = make(chan fate, 1)
	g.mu.Lock()
	switch {
	case g.opened:
		g.mu.Unlock()
		return open, true
	case c.of.dead:
		g.mu.Unlock()
		return dieBefore, true
	}
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	select {
	case f := <-c.chosen:
		return f, true
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.over {
		return <-c.chosen, true
	}
	g.drop(c)
	return 0, false
}

// drop removes a call that goes on or has left.
func (g *gate) drop(c *call) {
	c.over = true
	if at := slices.Index(g.waiting, c); at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
}

// send lets a call go on.
func (g *gate) send(c *call, f fate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !c.over {
		g.drop(c)
		c.chosen <- f
	}
}

// sort gives the calls that have stopped since the last time their places. Which goroutine came first does not count.
func (g *gate) sort() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var fresh []*call
	for _, c := range g.waiting {
		if c.place == 0 {
			fresh = append(fresh, c)
		}
	}
	for _, c := range fresh {
		c.label = g.names.label(c)
	}
	slices.SortStableFunc(fresh, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.of.name, b.of.name), cmp.Compare(a.label, b.label))
	})
	for _, c := range fresh {
		g.places++
		c.place = g.places
		g.names.learn(c.req)
	}
	slices.SortStableFunc(g.waiting, func(a, b *call) int { return cmp.Compare(a.place, b.place) })
}

// ready returns the calls that may go on now: those that wait for nothing first.
func (g *gate) ready() []*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	var list, polls []*call
	for _, c := range g.waiting {
		switch {
		case c.from.After(now), c.of.from.After(now):
		case c.poll == nil:
			list = append(list, c)
		case c.looked != g.state:
			polls = append(polls, c)
		}
	}
	return append(list, polls...)
}

// stopped returns all calls that have stopped, in their places.
func (g *gate) stopped() []*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.waiting)
}

// freeze lets all calls of a handle stay.
func (g *gate) freeze(h *handle, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h.from = time.Now().Add(d)
}

// changed says that waiting calls must look again.
func (g *gate) changed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state++
}

// fence cuts a handle off. It returns the calls in flight.
func (g *gate) fence(h *handle) (calls []*call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h.dead = true
	for _, c := range g.waiting {
		if c.of == h {
			calls = append(calls, c)
		}
	}
	return calls
}

// openUp ends the simulation: calls stop no more.
func (g *gate) openUp() {
	g.mu.Lock()
	g.opened = true
	calls := slices.Clone(g.waiting)
	g.mu.Unlock()
	for _, c := range calls {
		g.send(c, open)
	}
}

// notef adds a line to the trace.
func (g *gate) notef(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.opened {
		g.trace = append(g.trace, fmt.Sprintf("%4ds ", int(time.Since(g.began).Seconds()))+fmt.Sprintf(format, args...))
	}
}

// lines returns the trace.
func (g *gate) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.trace)
}

// digest is the hash of a trace.
func digest(trace []string) uint64 {
	h := fnv.New64a()
	for _, line := range trace {
		_, _ = h.Write([]byte(line + "\n")) // a hash takes all
	}
	return h.Sum64()
}
