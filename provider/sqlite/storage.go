package sqlite

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// storage runs the statements that both SQL stores share. It implements [relational.Storage].
type storage struct{ *handle }

// Read implements [relational.Storage]. Statements that read a few rows are not interrupted, which would cost more than it saves.
func (s storage) Read(ctx context.Context, how relational.Reading, fn func(relational.Queryer) error) error {
	within := context.WithoutCancel(ctx)
	if how.Long {
		bounded, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		ctx, within = bounded, bounded
	}
	run := s.read
	if how.Snapshot {
		run = s.readSnapshot
	}
	return run(ctx, how.Op, func(c *conn) error {
		now := s.store.clock.wall()
		return fn(queries{bound{within, c}, now, int64(now) - s.store.clock.skew()})
	})
}

// Write implements [relational.Storage].
func (s storage) Write(ctx context.Context, op string, bytes int, fn func(relational.Queryer) error) error {
	_, err := write(ctx, s.handle, op, bytes, func(t *tx, _ *struct{}) error { return fn(t.Rows) })
	return err
}

// Skew implements [relational.Storage].
func (s storage) Skew() int64 { return s.store.clock.skew() }

// PollFailed implements [relational.Storage].
func (s storage) PollFailed(err error) {
	s.store.log.Warn("perdure sqlite: looking for changes failed, calls that wait for one return up to 15 s late", "error", err)
}

// Now implements [relational.Storage].
func (s storage) Now() provider.Time { return s.store.clock.wall() }

// ObserveTime implements [relational.Storage]. Each time comes from the clock of this process, which does not go back.
func (s storage) ObserveTime(provider.Time) {}

// Leases implements [relational.Storage]. After a reboot all leases are over, because the elapsed clock began anew.
func (s storage) Leases(q relational.Queryer, now provider.Time) (func(string, int64) provider.LeaseRow, error) {
	boot, stored := s.store.clock.boot(), ""
	err := q.Query(relational.Query{SQL: sqlBoot, Each: func(r relational.Row) error {
		stored = r.Text(0)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	gone, err := s.store.goneOwners(q)
	rebooted, skew := boot != stored && boot != "", s.store.clock.skew()
	return func(owner string, until int64) provider.LeaseRow {
		return provider.LeaseRow{
			Owner: owner, Until: provider.Time(until + skew), Over: rebooted || until <= int64(now)-skew, OwnerGone: rebooted || gone[owner],
		}
	}, err
}

// queries are shared statements on a connection, at an instant of both clocks.
type queries struct {
	statements

	now     provider.Time
	elapsed int64
}

// Query implements [relational.Queryer].
func (q queries) Query(list ...relational.Query) error {
	for _, query := range list {
		args := slices.Concat(query.Args, []any{named{"now", int64(q.now)}, named{"elapsed", q.elapsed}})
		if err := q.each(query.SQL, func(r *row) error { return query.Each(sharedRow{r}) }, args...); err != nil {
			return err
		}
	}
	return nil
}

// Query implements [relational.Rows].
func (r *rows) Query(list ...relational.Query) error {
	u := r.historyRows.unit
	for i := range list {
		if each := list[i].Each; list[i].Writes {
			u.named = false // the statement alone knows what it changes
			list[i].Each = func(r relational.Row) error {
				u.Changes++
				return each(r)
			}
		}
	}
	return queries{u.db, u.Now, u.Elapsed}.Query(list...)
}

// named is an argument of a shared statement that has a name.
type named struct {
	name  string
	value int64
}

// A sharedRow is a row as shared statements see it. It implements [relational.Row].
type sharedRow struct{ *row }

func (s sharedRow) Int(i int) int64           { return s.int(i) }
func (s sharedRow) Bool(i int) bool           { return s.bool(i) }
func (s sharedRow) Text(i int) string         { return s.text(i) }
func (s sharedRow) Blob(i int) []byte         { return s.blob(i) }
func (s sharedRow) UUID(i int) provider.UUID  { return s.uuid(i) }
func (s sharedRow) VerifiedBlob(i int) []byte { return s.sound(i, i+1) }

// NotNull implements [relational.Row].
func (s sharedRow) NotNull(i int) {
	if s.null(i) {
		s.fault(i)
	}
}

// Fault implements [relational.Row].
func (s sharedRow) Fault() error {
	err := s.bad
	s.bad = nil
	return err
}
