package orchestrationtest

import (
	"errors"

	"github.com/perdure/perdure/runtime"
)

// Option is an option of [Run].
type Option interface {
	applyRun(o *runOptions) error
}

type runOptions struct {
	nodes []func(o *runtime.Options)
}

type runFunc func(o *runOptions) error

func (f runFunc) applyRun(o *runOptions) error { return f(o) }

// WithRuntime lets a function change the options of the nodes of the test: propagators, limits of queues, pools, sessions. It is
// called once, before the first node starts, and gets the options that the test would use. The client of the test takes its Propagators and its
// Observer from them, as one that [runtime.Runtime.Client] makes does.
//
// A test has a Lease of a day, no DeadlockLimit, and no limit for idle executions in the cache: timers that end early cost real time.
func WithRuntime(change func(o *runtime.Options)) Option {
	return runFunc(func(o *runOptions) error {
		if change == nil {
			return errors.New("WithRuntime has no function: give one")
		}
		o.nodes = append(o.nodes, change)
		return nil
	})
}
