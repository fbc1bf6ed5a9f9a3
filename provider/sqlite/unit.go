package sqlite

import (
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A unit is one transaction as all parts of it see it: the rules of package relational, the instant, and the statements.
// Only the holder of the writer's lock touches the writer's unit, and only the caller's goroutine touches a caller's.
type unit struct {
	relational.Tx

	db     statements
	clock  *clock
	skew   int64   // of the clocks, the same for the whole transaction
	owners *owners // nil in a transaction of a caller
	named  bool    // Touched and Effects name all instances that the transaction has changed
	args   []any   // of the last statement
}

// tick gives the next member its own instant, so that the order of insertion is the order of time.
func (u *unit) tick() {
	now := max(u.clock.wall(), u.Now+1)
	u.Now, u.Elapsed = now, int64(now)-u.skew
}

// given copies arguments into a list that is reused, so that the caller's list stays off the heap. They are bound before
// the next statement runs.
func (u *unit) given(args []any) []any {
	u.args = append(u.args[:0], args...)
	return u.args
}

// exec runs a writing statement and returns how many rows it changed.
func (u *unit) exec(sql string, args ...any) (int64, error) {
	n, err := u.db.exec(sql, u.given(args)...)
	if n > 0 {
		u.Changes++
	}
	return n, err
}

// do is exec for callers that do not need the number of rows.
func (u *unit) do(sql string, args ...any) error {
	_, err := u.exec(sql, args...)
	return err
}

func (u *unit) each(sql string, fn func(*row) error, args ...any) error {
	return u.db.each(sql, fn, u.given(args)...)
}

func (u *unit) one(sql string, fn func(*row), args ...any) (bool, error) {
	return u.db.one(sql, fn, u.given(args)...)
}

func (u *unit) integer(sql string, args ...any) (int64, error) {
	return u.db.integer(sql, u.given(args)...)
}

// keys collects a column of keys.
func (u *unit) keys(sql string, args ...any) (list []provider.UUID, err error) {
	err = u.each(sql, func(r *row) error {
		list = append(list, r.uuid(0))
		return nil
	}, args...)
	return list, err
}

// taskRefs collects the columns that name tasks.
func (u *unit) taskRefs(sql string, args ...any) (refs []provider.TaskRef, err error) {
	err = u.each(sql, func(r *row) error {
		refs = append(refs, provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)})
		return nil
	}, args...)
	return refs, err
}

const sqlEnroll = `INSERT INTO perdure_owner (process, owner) VALUES (?, ?) ON CONFLICT DO NOTHING`

// owners are the lease owners that the file knows to be of this process.
type owners struct {
	process int64
	stored  map[string]struct{}
	added   []string // by the open transaction
}

// enroll stores that this process serves a lease owner, in the transaction that gives the owner its first lease.
// A caller's transaction stores nothing: its sticky owners were enrolled when they became sticky.
func (u *unit) enroll(owner string) error {
	o := u.owners
	if o == nil || owner == "" {
		return nil
	}
	if _, ok := o.stored[owner]; ok || slices.Contains(o.added, owner) {
		return nil
	}
	_, err := u.exec(sqlEnroll, o.process, owner)
	o.added = append(o.added, owner)
	return err
}

// commit notes that the open transaction was committed.
func (o *owners) commit() {
	for _, owner := range o.added {
		o.stored[owner] = struct{}{}
	}
}
