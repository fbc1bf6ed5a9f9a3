package sqlite

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A tx is what members of a group run in: the writer's transaction, and the rows that the
// rules of package relational work on. Only who has the writer's helm touches it.
type tx struct {
	relational.Tx

	db       statements
	writer   *writer
	skew     int64             // of the clocks, the same for the whole transaction
	kinds    *relational.Kinds // as they were read last
	read     kindsRead
	made     map[provider.UUID]*made
	quiet    quiet
	enrolled []string // owners that the file did not have
	watched  bool     // a fetch waits for a place in a queue
	args     []any    // of the statement that was run last
	guest    bool     // the transaction is a caller's: only the caller's goroutine touches it
}

var _ relational.Rows = (*tx)(nil)

const never = relational.Never

func newTx(w *writer, c *conn) *tx {
	t := &tx{db: bound{writerContext(), c}, writer: w, kinds: relational.NewKinds(), made: make(map[provider.UUID]*made), quiet: make(quiet)}
	t.Tx = relational.Tx{Rows: t, Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects()}
	return t
}

// afresh begins a transaction's count of what it did.
func (t *tx) afresh() { t.Effects, t.Changes, t.enrolled = relational.NewEffects(), 0, nil }

// tick gives the next member its own instant, so that order of insertion is order of
// time.
func (t *tx) tick() {
	now := max(t.writer.store.clock.wall(), t.Now+1)
	t.Now, t.Elapsed = now, int64(now)-t.skew
}

// given copies arguments into a list that is used again, so that those of callers need not be on the heap. They are bound before anything else is run.
func (t *tx) given(args []any) []any {
	t.args = append(t.args[:0], args...)
	return t.args
}

// exec runs a writing statement.
func (t *tx) exec(sql string, args ...any) (int64, error) {
	n, err := t.db.exec(sql, t.given(args)...)
	if n > 0 {
		t.Changes++
	}
	return n, err
}

// do is exec for whoever does not ask how many rows changed.
func (t *tx) do(sql string, args ...any) error {
	_, err := t.exec(sql, args...)
	return err
}

func (t *tx) each(sql string, fn func(*row) error, args ...any) error {
	return t.db.each(sql, fn, t.given(args)...)
}

func (t *tx) one(sql string, fn func(*row), args ...any) (bool, error) {
	return t.db.one(sql, fn, t.given(args)...)
}

func (t *tx) integer(sql string, args ...any) (int64, error) {
	return t.db.integer(sql, t.given(args)...)
}

// keys collects a column of keys.
func (t *tx) keys(sql string, args ...any) (list []provider.UUID, err error) {
	err = t.each(sql, func(r *row) error {
		list = append(list, r.uuid(0))
		return nil
	}, args...)
	return list, err
}

// forget drops all that is cached of the file.
func (t *tx) forget() {
	t.Forget()
	clear(t.made)
	clear(t.quiet)
	if !t.guest {
		t.writer.store.hub.Doubt()
	}
	t.read.current, t.read.void = false, t.read.void || t.read.made
}
