package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// InTx makes a transaction that the caller began through pgx an option of client.Start and Raise: what they store is
// there if and only if tx commits. Tx must be one of the database and server that the store was opened with.
// It belongs to the caller: nothing here ends it, and a refusal leaves it as it was.
//
// At REPEATABLE READ and SERIALIZABLE a call fails if another transaction has changed the instance, or taken the ID, since tx
// began, as a statement of your own would: begin the whole transaction again.
//
// Another transaction that starts an instance under the same ID waits until tx is over, and so does an instance to
// which tx raised an event: start and raise last, then commit.
func InTx(tx pgx.Tx) provider.Tx { return provider.Tx{Of: userTx{Tx: tx, Package: "postgres"}} }

type userTx = relational.UserTx[pgx.Tx]

var _ provider.Transactor = (*Provider)(nil)

// CreateIn implements [provider.Transactor].
func (p *Provider) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.CreateResult, error) {
	req.First = nil // nobody tells this process whether it is stored
	return p.inside(tx).Create(ctx, req)
}

// SendIn implements [provider.Transactor].
func (p *Provider) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (provider.SendResult, error) {
	return p.inside(tx).Send(ctx, req)
}

// inside are the calls as they are carried out in a transaction of the caller.
func (p *Provider) inside(tx provider.Tx) relational.Calls {
	return relational.Inside(tx, &p.door, p.join)
}

// join runs a call in a transaction of the caller, each try in a savepoint: what the call refuses, and what another transaction
// did first, must not end the transaction.
//
// The transaction may hold a connection of the store's pool, and others like it all the rest. So nothing here takes a connection of that
// pool: what the transaction must not hold or may not see is asked on the spare one.
func (p *Provider) join(ctx context.Context, tx pgx.Tx, m *relational.Member) error {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	if err := p.refreshKinds(ctx, p.spare); err != nil {
		return failed(m.Op, err, provider.OutcomeNothing)
	}
	for more := 0; ; more++ {
		err := p.joinOnce(ctx, tx, m)
		need, asks := errors.AsType[*needError](err)
		again := asks || errors.Is(err, errHeld) || isUnique(err, "instance_")
		if !again || more == maxTries {
			return failed(m.Op, err, provider.OutcomeNothing)
		}
		if asks {
			if err := p.learn(ctx, p.spare, m, need); err != nil {
				return failed(m.Op, err, provider.OutcomeNothing)
			}
		}
	}
}

// learn remembers what a call turned out to need. A new kind is stored by a statement of its own, on a connection of pool.
func (p *Provider) learn(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, need *needError) error {
	m.Needs.Add(&need.needs)
	if !need.kind() {
		return nil
	}
	return p.loadKinds(ctx, pool, need)
}

const sqlTxID = `SELECT pg_current_xact_id()::text`

// joinOnce is one try. A call that changes nothing keeps no locks.
func (p *Provider) joinOnce(ctx context.Context, tx pgx.Tx, m *relational.Member) error {
	savepoint, err := tx.Begin(ctx)
	if errors.Is(err, pgx.ErrTxClosed) || sqlState(err) == stateNoTransaction {
		return relational.TxOver(err)
	}
	if err != nil {
		return err
	}
	u := newUnit(ctx, p, savepoint.Conn())
	u.single, u.wait, u.joined = true, true, true
	t := u.tx()
	id, err := u.runJoined(t, m)
	if err != nil || t.Changes == 0 {
		return errors.Join(err, undo(ctx, savepoint))
	}
	if err := savepoint.Commit(ctx); err != nil {
		return err
	}
	p.pending.add(id, t.Effects)
	return nil
}

// runJoined carries a call out and answers the ID of the transaction that it is in.
func (u *unit) runJoined(t *relational.Tx, m *relational.Member) (id string, err error) {
	if err := u.checkDatabase(); err != nil {
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

// undo takes back a try, also when its context is finished.
func undo(ctx context.Context, savepoint pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if err := savepoint.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("back to the savepoint: %w", err)
	}
	return nil
}

// sqlDatabase names a database as nothing else is named while its server runs.
const sqlDatabase = `SELECT extract(epoch FROM pg_postmaster_start_time())::text || '/' || d.oid || '/' || to_regclass($1)::oid
	FROM pg_database d WHERE d.datname = current_database()`

// anyTable of the store tells its schema from one of the same name that was made anew.
const anyTable = `perdure.instance`

// checkDatabase refuses a transaction that is not one of this store's database.
func (u *unit) checkDatabase() error {
	var there *string
	if err := u.conn.QueryRow(u.ctx, sqlDatabase, u.p.names.sql(anyTable)).Scan(&there); err != nil {
		return err
	}
	if u.p.kinds.from(there) {
		return nil
	}
	if there != nil { // the server may have been restarted
		if err := u.p.relearnDatabase(u.ctx, there); err != nil || u.p.kinds.from(there) {
			return err
		}
	}
	return fmt.Errorf("%w: its connection is to another server or database, or to one without the store's schema", provider.ErrForeignTx)
}

// relearnDatabase reads anew which database the store's is, unless another call has found meanwhile that it is there. It makes a connection:
// those of the pool may all be held by callers that wait for this, and those of the spare one may lead to the server before a fail-over.
func (p *Provider) relearnDatabase(ctx context.Context, there *string) error {
	select {
	case p.relearn <- struct{}{}:
		defer func() { <-p.relearn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.kinds.from(there) {
		return nil
	}
	config := p.spare.Config()
	config.MaxConns = 1
	fresh, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer fresh.Close()
	return p.loadKinds(ctx, fresh, nil)
}
