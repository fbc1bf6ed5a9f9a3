package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// InTx makes a transaction that the caller began through database/sql an option of client.Start and Raise. Their writes are
// stored if and only if tx commits. Tx must be on the file of the store, through the driver modernc.org/sqlite. Begin it with
// [Provider.BeginTx], or on a database handle of your own. It belongs to the caller: nothing here ends it, and a refused call
// leaves it as it was.
//
// As with any use of tx, calls must not run concurrently, because each is a savepoint. A file has one writer at a time. While
// tx is open the store waits, up to Options.BusyTimeout. A call whose context has no deadline within twice that time may wait
// even if it is cancelled. So commit soon. On a handle of your own, begin tx as a writing transaction (_txlock=immediate in the
// data source name): SQLite refuses to upgrade it once another transaction has written.
func InTx(tx *sql.Tx) provider.Tx {
	return provider.Tx{Of: userTx{Tx: tx, Package: "sqlite", From: caller()}}
}

type userTx = relational.UserTx[*sql.Tx]

// A transactor has the calls in transactions that the program began itself, and those that give it one.
type transactor struct {
	*handle

	txs programTxs
}

// CreateIn implements [provider.Transactor].
func (tr *transactor) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.CreateResult, error) {
	return tr.inside(tx).Create(ctx, req)
}

// SendIn implements [provider.Transactor].
func (tr *transactor) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (provider.SendResult, error) {
	return tr.inside(tx).Send(ctx, req)
}

// inside returns the calls that run in a transaction of the caller.
func (tr *transactor) inside(tx provider.Tx) relational.Calls {
	of, _ := tx.Of.(userTx)
	return relational.Inside(tx, &tr.door, func(ctx context.Context, own *sql.Tx, m *relational.Member) error {
		if tr.readOnly {
			return refused(m.Op)
		}
		err := tr.store.join(ctx, own, m)
		if err == nil {
			tr.store.lastInTx.Store(&origin{of.From, time.Now()})
		}
		return failed(m.Op, err, provider.OutcomeNothing)
	})
}

// explainBusy adds to the error of a busy file which transaction may hold it.
func (s *store) explainBusy(err error) error {
	if code(err)&0xff != lib.SQLITE_BUSY {
		return err
	}
	if last := s.lastInTx.Load(); last != nil {
		return fmt.Errorf("%w: another connection has begun a transaction; if it is the one that was given to InTx at %v, commit it or roll it back; "+
			"BeginTx of the store takes turns", err, last)
	}
	return fmt.Errorf("%w: a connection that is not the store's has begun a transaction; commit it or roll it back; "+
		"BeginTx of the store takes turns", err)
}

// join runs a call in a transaction of the caller, in a savepoint, so that a refused call leaves no trace. The writer sees the
// commit as it sees those of other processes. The statements are few and short, and none is interrupted. An interrupt would end
// the whole transaction, and the caller's later statements would be stored at once.
func (s *store) join(ctx context.Context, tx *sql.Tx, m *relational.Member) error {
	if err := s.pathError(); err != nil {
		return err
	}
	db := callerTx{context.WithoutCancel(ctx), tx}
	if err := s.checkFile(db); err != nil {
		return err
	}
	// An open transaction refuses another BEGIN, which changes nothing. Without one the savepoint would be a transaction of its own.
	if _, err := db.exec("BEGIN"); err == nil {
		_, undone := db.exec("ROLLBACK")
		return relational.TxOver(errors.Join(errEnded, undone))
	}
	if _, err := db.exec("SAVEPOINT perdure"); err != nil {
		return err
	}
	t := newTx(db, s.clock)
	t.skew = s.clock.skew()
	t.tick()
	err := m.Run(&t.Tx)
	if err == nil {
		err = t.Flush()
	}
	if err != nil {
		_, undone := db.exec("ROLLBACK TO perdure")
		err = errors.Join(err, undone)
	}
	_, released := db.exec("RELEASE perdure")
	return errors.Join(err, released)
}

var errEnded = errors.New("a statement such as COMMIT has ended it")

// checkFile refuses a transaction that is not on the store's file.
func (s *store) checkFile(db callerTx) error {
	path := ""
	err := db.each("PRAGMA database_list", func(r *row) error {
		if r.text(1) == "main" {
			path = r.text(2)
		}
		return nil
	})
	if errors.Is(err, sql.ErrTxDone) {
		return relational.TxOver(err)
	}
	if err != nil {
		return fmt.Errorf("%w: it cannot be asked for its SQLite file: %w", provider.ErrForeignTx, err)
	}
	info, err := os.Stat(path)
	if err != nil || !os.SameFile(info, s.info) {
		return fmt.Errorf("%w: it is on %q, the store on %q", provider.ErrForeignTx, path, s.path)
	}
	return nil
}

// callerTx runs statements in a transaction of the caller.
type callerTx struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call, whose context it is
	tx  *sql.Tx
}

func (c callerTx) bind(args []any) []any {
	bound := make([]any, len(args))
	for i, a := range args {
		bound[i] = value(a)
	}
	return bound
}

func (c callerTx) exec(query string, args ...any) (int64, error) {
	res, err := c.tx.ExecContext(c.ctx, query, c.bind(args)...)
	if err != nil {
		return 0, err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	return res.RowsAffected() //nolint:wrapcheck // the driver never fails here
}

func (c callerTx) each(query string, fn func(*row) error, args ...any) (err error) {
	rows, err := c.tx.QueryContext(c.ctx, query, c.bind(args)...)
	if err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := &row{}
	if r.names, err = rows.Columns(); err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	r.vals = make([]driver.Value, len(r.names))
	into := make([]any, len(r.names))
	for i := range r.vals {
		into[i] = (*any)(&r.vals[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err //nolint:wrapcheck // failed wraps it once, with the method's name
		}
		if err := fn(r); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
		if r.bad != nil {
			return r.bad
		}
	}
	return rows.Err() //nolint:wrapcheck // failed wraps it once, with the method's name
}

func (c callerTx) one(query string, fn func(*row), args ...any) (found bool, err error) {
	err = c.each(query, func(r *row) error {
		found = true
		fn(r)
		if r.bad != nil {
			return r.bad
		}
		return errStop
	}, args...)
	return found, err
}

func (c callerTx) integer(query string, args ...any) (n int64, err error) {
	_, err = c.one(query, func(r *row) { n = r.int(0) }, args...)
	return n, err
}
