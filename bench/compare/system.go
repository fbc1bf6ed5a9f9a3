package main

import (
	"context"
	"time"
)

// system is one engine, with its worker and its client, on one store. It is never closed. Its process ends with the
// run and its store is deleted, so that shutdown is not measured and no run waits for it.
type system interface {
	// Start starts an orchestration that runs the program.
	Start(ctx context.Context, p program, n int) (instance, error)
	// Settings returns the settings of the store and the engine, read back if possible.
	Settings(ctx context.Context) []string
}

// instance is one started orchestration.
type instance interface {
	// Wait returns when it has read the outcome from the engine, nil for a success. It polls often if the engine
	// needs polling.
	Wait(ctx context.Context) error
	// WaitAsDocumented waits with the call that the engine's documentation recommends.
	WaitAsDocumented(ctx context.Context) error
	Send(ctx context.Context, event Reply) error
}

// program is what an orchestration does. Every system has all programs.
type program int

const (
	chain  program = iota // n activities in sequence
	fan                   // n activities at once, joined
	sleep                 // one timer of n milliseconds
	listen                // n events, one after another
)

// eventName is the name of the event that listen receives.
const eventName = "event"

// Reply is the output of the no-op activity and the payload of an event: 50 bytes of JSON.
type Reply struct{ Text string }

func reply() Reply { return Reply{Text: "a text that makes this fifty bytes as JSON"} }

// product is a system that can be compared.
type product struct {
	name   string
	module string
	open   func(ctx context.Context, s store) (system, error)
	// notes describes, by kind of store, how the settings differ from the defaults, and why.
	notes map[string]string
}

// products returns all systems in the order in which they alternate.
func products() []product {
	return []product{perdureProduct(), goWorkflowsProduct(), durableTaskProduct(), dbosProduct()}
}

const (
	kindSQLite   = "sqlite"
	kindPostgres = "postgres"
)

// store is where one run keeps its state.
type store struct {
	Kind    string `json:"kind"`
	Address string `json:"address"` // path of a file that does not exist yet, or URL of an empty database
}

// connections is the maximum number of Postgres connections of a peer, enough for its workers and the eight
// clients.
const connections = 32

// poll polls until an instance has ended, for systems without notification. The pauses are a twentieth of the time
// waited so far. They are shorter than those of the systems' own calls, so that the figures do not measure the
// pauses.
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
