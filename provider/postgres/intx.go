package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// InTx turns a transaction that the caller began through pgx into an option of client.Start and Raise. Their effects
// are stored if and only if tx commits. Tx must be of the database and server that the store was opened with. It
// belongs to the caller: nothing here ends it, and a refused call leaves it unchanged.
//
// At REPEATABLE READ and SERIALIZABLE a call fails if another transaction has changed the instance, or taken the ID,
// since tx began, as any statement would. Begin the whole transaction again.
//
// Until tx is over, other transactions that start an instance under the same ID wait for it. So does an instance to
// which tx raised an event. Start and raise last, then commit.
func InTx(tx pgx.Tx) provider.Tx { return provider.Tx{Of: userTx{Tx: tx, Package: "postgres"}} }

type userTx = relational.UserTx[pgx.Tx]

var _ provider.Transactor = (*Provider)(nil)

// joins runs calls in transactions of the caller.
type joins struct {
	db      *database
	kinds   *kinds
	units   *units
	pending *pending
	relearn chan struct{} // held by a call that finds out which database is the store's now
}

// inside returns calls that run in a transaction of the caller.
func (j *joins) inside(tx provider.Tx) relational.Calls {
	return relational.Inside(tx, &j.db.door, j.join)
}

// join runs a call in a transaction of the caller. Each try has a savepoint, because neither a refusal nor a conflict
// may end the transaction.
//
// The transaction may hold a connection of the store's pool, and others like it all the rest. So nothing here takes a
// connection of that pool. Reads that the transaction must not lock or may not see use the reserve pool.
func (j *joins) join(ctx context.Context, tx pgx.Tx, m *relational.Member) error {
	ctx, cancel := j.db.bounded(ctx)
	defer cancel()
	if err := j.kinds.refresh(ctx, j.db.reserve); err != nil {
		return failed(m.Op, err, provider.OutcomeNothing)
	}
	for more := 0; ; more++ {
		err := j.joinOnce(ctx, tx, m)
		need, asks := errors.AsType[*needError](err)
		again := asks || errors.Is(err, errHeld) || isUnique(err, "instance_")
		if !again || more == maxTries {
			return failed(m.Op, err, provider.OutcomeNothing)
		}
		if asks {
			if err := j.kinds.learn(ctx, j.db.reserve, m, need); err != nil {
				return failed(m.Op, err, provider.OutcomeNothing)
			}
		}
	}
}

const sqlTxID = `SELECT pg_current_xact_id()::text`

// joinOnce is one try. A call that changes nothing keeps no locks.
func (j *joins) joinOnce(ctx context.Context, tx pgx.Tx, m *relational.Member) error {
	savepoint, err := tx.Begin(ctx)
	if errors.Is(err, pgx.ErrTxClosed) || sqlState(err) == stateNoTransaction {
		return relational.TxOver(err)
	}
	if err != nil {
		return err
	}
	u := j.units.on(ctx, savepoint.Conn())
	u.ownTx, u.wait, u.joined = true, true, true
	t := u.tx()
	id, err := j.run(u, t, m)
	if err != nil || t.Changes == 0 {
		return errors.Join(err, undo(ctx, savepoint))
	}
	if err := savepoint.Commit(ctx); err != nil {
		return err
	}
	j.pending.add(id, t.Effects)
	return nil
}

// run runs a call and returns the ID of the transaction that it is in.
func (j *joins) run(u *unit, t *relational.Tx, m *relational.Member) (id string, err error) {
	if err := j.checkDatabase(&u.txn); err != nil {
		return "", err
	}
	if err := u.begin(m.Needs); err != nil {
		return "", err
	}
	t.Now, t.Elapsed = u.now, int64(u.now)
	if err := m.Run(t); err != nil {
		return "", err
	}
	if err := t.Flush(); err != nil {
		return "", err
	}
	b := &pgx.Batch{}
	u.queueOps(b)
	u.queueLeave(b)
	b.Queue(sqlTxID).QueryRow(func(r pgx.Row) error { return r.Scan(&id) })
	return id, u.conn.SendBatch(u.ctx, b).Close()
}

// undo rolls back a try, even if its context is done.
func undo(ctx context.Context, savepoint pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if err := savepoint.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("rolling back to the savepoint: %w", err)
	}
	return nil
}

// sqlDatabase returns an identity of a database that is unique while its server runs.
const sqlDatabase = `SELECT extract(epoch FROM pg_postmaster_start_time())::text || '/' || d.oid || '/' || to_regclass($1)::oid
	FROM pg_database d WHERE d.datname = current_database()`

// Any table of the store distinguishes its schema from a recreated one of the same name.
const anyTable = `perdure.instance`

// checkDatabase refuses a transaction of another database than the store's.
func (j *joins) checkDatabase(t *txn) error {
	var there *string
	if err := t.conn.QueryRow(t.ctx, sqlDatabase, j.db.names.sql(anyTable)).Scan(&there); err != nil {
		return err
	}
	if j.kinds.from(there) {
		return nil
	}
	if there != nil { // the server may have been restarted
		if err := j.relearnDatabase(t.ctx, there); err != nil || j.kinds.from(there) {
			return err
		}
	}
	return fmt.Errorf("%w: its connection is to another server or database, or to one without the store's schema", provider.ErrForeignTx)
}

// relearnDatabase reads again which database is the store's, unless another call did meanwhile. It opens a new
// connection. All connections of the pool may be held by callers that wait for this, and those of the reserve pool may lead to the
// server before a fail-over.
func (j *joins) relearnDatabase(ctx context.Context, there *string) error {
	select {
	case j.relearn <- struct{}{}:
		defer func() { <-j.relearn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.kinds.from(there) {
		return nil
	}
	config := j.db.reserve.Config()
	config.MaxConns = 1
	fresh, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer fresh.Close()
	return j.kinds.load(ctx, fresh, nil)
}

// How often open transactions are checked: after a tenth of their age, within these bounds.
const (
	firstPending = 5 * time.Millisecond
	lastPending  = 30 * time.Millisecond
)

// pending are the open transactions of callers that something was stored in, with the effects to publish once they
// commit. The server does not report the commit, and a NOTIFY inside of the transactions would make them wait for each
// other. So one statement checks all of them.
type pending struct {
	db       *database
	notifier *notifier
	ended    sync.WaitGroup
	added    chan struct{}

	mu   sync.Mutex
	open map[string]*joined // by the ID of the transaction
}

// joined is one transaction of a caller.
type joined struct {
	since time.Time
	fx    relational.Effects
}

func startPending(db *database, notifier *notifier) *pending {
	w := &pending{db: db, notifier: notifier, added: make(chan struct{}, 1), open: make(map[string]*joined)}
	w.ended.Go(w.watch)
	return w
}

// stop ends the watch after the provider's context has ended.
func (w *pending) stop() { w.ended.Wait() }

// add watches a transaction for what a call did in it.
func (w *pending) add(id string, fx relational.Effects) {
	w.mu.Lock()
	if j := w.open[id]; j != nil {
		j.fx.Merge(&fx)
	} else {
		w.open[id] = &joined{since: time.Now(), fx: fx}
	}
	w.mu.Unlock()
	select {
	case w.added <- struct{}{}:
	default:
	}
}

// watch checks the open transactions until the provider closes.
func (w *pending) watch() {
	timer := time.NewTimer(lastPending)
	defer timer.Stop()
	for checked := time.Now(); ; {
		ids, wait := w.next()
		var due <-chan time.Time
		if len(ids) > 0 {
			timer.Reset(wait - time.Since(checked)) // even if others are added meanwhile
			due = timer.C
		}
		select {
		case <-w.added:
			if len(ids) == 0 {
				checked = time.Now() // it is not over yet
			}
			continue
		case <-w.notifier.ctx.Done():
			return
		case <-due:
		}
		checked = time.Now()
		if err := w.check(ids); err != nil && w.db.hard.Err() == nil {
			w.db.opts.Logger.Debug("perdure postgres: whether callers' transactions are over cannot be asked", "error", err)
		}
	}
}

// next returns what to check, and when: after a share of the age of the youngest.
func (w *pending) next() (ids []string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = lastPending
	for id, j := range w.open {
		ids = append(ids, id)
		wait = min(wait, max(firstPending, time.Since(j.since)/10))
	}
	return ids, wait
}

// IDs that cannot be over are left out: the server refuses an ID of the future, and one that it gave before a crash is
// such an ID.
const sqlOver = `SELECT id, status FROM unnest($1::text[]) w (id), LATERAL (SELECT CASE
	WHEN id::xid8 < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(id::xid8) ELSE 'in progress' END) s (status)
	WHERE status IS DISTINCT FROM 'in progress'`

// check finds out which transactions are over. It publishes the effects of those that committed, and of those that the
// server no longer knows.
func (w *pending) check(ids []string) error {
	ctx, cancel := w.db.bounded(context.WithoutCancel(w.db.hard))
	defer cancel()
	rows, err := w.db.pool.Query(ctx, sqlOver, ids)
	if err != nil {
		return err
	}
	var id string
	var status *string
	_, err = pgx.ForEachRow(rows, []any{&id, &status}, func() error {
		w.mu.Lock()
		j := w.open[id]
		delete(w.open, id)
		w.mu.Unlock()
		if status == nil || *status != "aborted" {
			w.notifier.publish(&j.fx, nil)
		}
		return nil
	})
	return err
}
