package relational

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// Storage runs the statements of [Queries].
type Storage interface {
	// Read runs fn on a connection that reads.
	Read(ctx context.Context, how Reading, fn func(Queryer) error) error
	// Write runs fn, which may run twice. All that its last statement changed is stored or nothing is.
	Write(ctx context.Context, op string, bytes int, fn func(Queryer) error) error
	// Leases returns a function that describes a lease to Inspect.
	Leases(q Queryer, now provider.Time) (func(owner string, until int64) provider.LeaseRow, error)
	// Skew is what an instant of the lease clock lacks to the storage's time.
	Skew() int64
	// Stamps is that of [Source].
	Stamps(ctx context.Context, list []Followed) ([]uint64, error)
	// PollFailed logs that changes of other processes are noticed late.
	PollFailed(err error)
	// Now returns the storage's time without a statement.
	Now() provider.Time
	// ObserveTime takes over a time that a result brings. No later call stores or returns an earlier one.
	ObserveTime(now provider.Time)
}

// Reading is how statements read.
type Reading struct {
	Op       string // the method
	Snapshot bool   // all statements see one state
	Long     bool   // many rows may be read
}

// Queries are the methods of a provider whose statements all stores share. A store embeds them.
type Queries struct {
	storage Storage
	door    *Door
	hub     *Hub
	enqueue func(ctx context.Context, m *Member, urgent bool) error
	batch   int
}

// NewQueries returns the methods of a store. At most batch dead letters are changed in one group.
func NewQueries(
	s Storage, door *Door, hub *Hub, enqueue func(ctx context.Context, m *Member, urgent bool) error, batch int,
) Queries {
	return Queries{s, door, hub, enqueue, batch}
}

// read returns what fn reads.
func read[Res any](ctx context.Context, s Storage, how Reading, fn func(Queryer, *Res) error) (Res, error) {
	return filled(func(run func(Queryer) error) error { return s.Read(ctx, how, run) }, fn)
}

// change returns the result of statements that change something.
func change[Res any](ctx context.Context, s Storage, op string, bytes int, fn func(Queryer, *Res) error) (Res, error) {
	return filled(func(run func(Queryer) error) error { return s.Write(ctx, op, bytes, run) }, fn)
}

// filled returns the result that fn fills in. A call that gave up does not share it, because fn may still run.
func filled[Res any](run func(func(Queryer) error) error, fn func(Queryer, *Res) error) (Res, error) {
	var zero Res
	out := new(Res)
	err := run(func(q Queryer) error {
		*out = zero
		return fn(q, out)
	})
	if err != nil {
		return zero, err
	}
	return *out, nil
}
