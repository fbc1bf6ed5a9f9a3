package orchestrationtest

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Option is an option of [Run].
type Option interface {
	applyRun(o *runOptions) error
}

type runOptions struct {
	nodes   []func(o *runtime.Options)
	clients []func(o *client.Options)
}

type runFunc func(o *runOptions) error

func (f runFunc) applyRun(o *runOptions) error { return f(o) }

// WithRuntime lets a function change the options of the nodes of the test: propagators, limits of queues, pools, sessions. It is
// called once, before the first node starts, and gets the options that the test would use. The client of the test takes its Propagators, its
// Observer and its Codec from them, as one that [runtime.Runtime.Client] makes does. With a Codec, what the test stores is encrypted.
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

// WithClient lets a function change the options of the client of the test: interceptors, for example. It is called once, before [Run] calls
// the test, and gets the options that the test would use.
func WithClient(change func(o *client.Options)) Option {
	return runFunc(func(o *runOptions) error {
		if change == nil {
			return errors.New("WithClient has no function: give one")
		}
		o.clients = append(o.clients, change)
		return nil
	})
}

// settings are what a run is made of. Only tests of this package change the first two.
type settings struct {
	timers bool // those of production
	once   bool // no turn is run twice

	options runOptions
	store   provider.Provider // in real time; nil: the test has one in memory, and runs in a bubble
}

// apply applies the options of a run.
func (s *settings) apply(opts []Option) error {
	if err := bind.Apply(opts, func(o Option) error { return o.applyRun(&s.options) }); err != nil {
		return fmt.Errorf("running a test of orchestrations: %w", err)
	}
	return nil
}

// real reports whether the test runs in real time.
func (s *settings) real() bool { return s.store != nil }

// storage returns the store of the test.
func (s *settings) storage() provider.Provider {
	if s.real() {
		return s.store
	}
	return memory.New(memory.Options{Clock: bubbleClock{}})
}
