package provider

import "context"

// Notice reports that an execution ended or that a task was asked to stop, so that a node need not wait for
// its next lease renewal. EventID 0 means all tasks of the execution.
type Notice struct {
	Key       UUID
	Execution int64
	EventID   int64
}

// Notifier is implemented by providers that can report ended executions and cancelled
// tasks at once. A notice may be lost, duplicated or made up by another process. So a
// notice is a hint to look at the store, by a renewal. Regular renewals are the safety net.
type Notifier interface {
	// Notify calls fn for each notice until stop is called; stop waits for a running fn.
	// fn must be quick and must not call the provider.
	Notify(fn func(Notice)) (stop func())
}

// Migration describes one step of a store's schema.
type Migration struct {
	Version int
	Name    string
	SQL     string
	Applied bool
}

// Migrator is implemented by providers with a schema.
type Migrator interface {
	// Migrations lists all steps that this release knows, in order, and whether each is applied.
	Migrations(ctx context.Context) ([]Migration, error)
	// Migrate applies the missing steps. Several processes may call it at once.
	Migrate(ctx context.Context) error
}
