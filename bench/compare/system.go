package main

import (
	"context"
	"time"
)

// A system is one engine, with its worker and its client, on one store. It is never closed: its process ends with the
// run and its store is thrown away, so that no engine is judged by how it stops, or kept waiting for another one that does not.
type system interface {
	// Start starts an orchestration that runs the program.
	Start(ctx context.Context, p program, n int) (instance, error)
	// Settings says what of the store and the engine is set, as read back where that can be done.
	Settings(ctx context.Context) []string
}

// An instance is one orchestration that was started.
type instance interface {
	// Wait answers when the outcome has been read from the engine: nil if it is a success. An engine that has to be asked is asked often.
	Wait(ctx context.Context) error
	// WaitAsDocumented does so by the call that the engine's documentation has for it.
	WaitAsDocumented(ctx context.Context) error
	Send(ctx context.Context, event Reply) error
}

// A program is what an orchestration does. Every system has all of them.
type program int

const (
	chain  program = iota // n activities in sequence
	fan                   // n activities at once, joined
	sleep                 // one timer of n milliseconds
	listen                // n events, one after another
)

// eventName is what listen waits for.
const eventName = "event"

// Reply is what the no-op activity answers and what an event carries: 50 bytes of JSON.
type Reply struct{ Text string }

func reply() Reply { return Reply{Text: "a text that makes this fifty bytes as JSON"} }

// A product is a system that can be compared.
type product struct {
	name   string
	module string
	open   func(ctx context.Context, s store) (system, error)
	// notes says, by kind of store, how the settings differ from the defaults, and why.
	notes map[string]string
}

// products are all systems, in the order in which they alternate.
func products() []product {
	return []product{perdureProduct(), goWorkflowsProduct(), durableTaskProduct(), dbosProduct()}
}

const (
	kindSQLite   = "sqlite"
	kindPostgres = "postgres"
)

// A store is where one run keeps its state.
type store struct {
	Kind    string `json:"kind"`
	Address string `json:"address"` // path of a file that is not there yet, or URL of an empty database
}

// connections is how many the peers may open to Postgres: enough for their workers and the eight clients.
const connections = 32

// poll asks whether an instance has ended, for the systems that can only be asked. The pauses are a twentieth of the time
// waited so far: shorter than those of the systems' own calls, so that the figures are not those of their pauses.
func poll(ctx context.Context, ended func() (bool, error)) error {
	const shortest, longest = 200 * time.Microsecond, 20 * time.Millisecond
	began := time.Now()
	for {
		if done, err := ended(); done || err != nil {
			return err
		}
		select {
		case <-time.After(min(max(time.Since(began)/20, shortest), longest)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
