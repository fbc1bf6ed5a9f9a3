package orchestrationtest

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Call is one call of a substitute: an attempt of an activity, or an execution of an orchestration.
type Call[In, Out any] struct {
	In         In
	Out        Out       // zero while it runs, and after an error
	Err        error     // that it returned; [ErrPanicked] after a panic of an activity
	At         time.Time // virtual, when it began
	Attempt    int       // of the activity, from 1; 1 for an orchestration
	InstanceID string    // of the instance that called; "": a client has started the orchestration
	Lost       bool      // the node of the activity was killed before it ended: see [Env.Kill]
}

// ErrPanicked is the error of a Call whose function has panicked.
var ErrPanicked = errors.New("orchestrationtest: the substitute panicked")

// Calls are the calls of a substitute. Several goroutines may use it at once.
type Calls[In, Out any] struct {
	mu    sync.Mutex
	calls []Call[In, Out]
	byKey map[string]int // of executions, which begin again in each replay
}

// Calls returns a copy of all calls so far, in the order in which they began.
func (c *Calls[In, Out]) Calls() []Call[In, Out] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Calls[In, Out]) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// begin adds a call and returns its number, from 0.
func (c *Calls[In, Out]) begin(call Call[In, Out]) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return len(c.calls) - 1
}

// beginOnce is begin for a call that may begin again under its key.
func (c *Calls[In, Out]) beginOnce(key string, call Call[In, Out]) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, again := c.byKey[key]
	if !again {
		if c.byKey == nil {
			c.byKey = make(map[string]int)
		}
		n = len(c.calls)
		c.byKey[key] = n
		c.calls = append(c.calls, call)
	}
	return n
}

// end sets how a call has ended.
func (c *Calls[In, Out]) end(n int, out Out, err error, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[n].Out, c.calls[n].Err, c.calls[n].Lost = out, err, lost
}
