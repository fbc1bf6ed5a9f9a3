package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// BeginTx begins a transaction of the program on the store's file, for its own tables and for [InTx]. It is an ordinary
// transaction of database/sql that also queues with all writers of the file, of this process and of others, in order of
// arrival. A transaction of a separate database handle does not queue, and starves while the store is busy.
//
// The call waits for its turn until ctx ends. After [Options].BusyTimeout it returns an error that names the holder of the
// file. The transaction is rolled back when ctx ends, by Close, and when the process dies. Commit soon: no other writer gets
// the file meanwhile, and a call of the store without InTx(tx) waits for the transaction. Foreign keys are enforced. SQLite
// has one isolation level, serializable. A transaction with opts.ReadOnly reads one state of the file and never waits.
//
// BeginTx returns [ErrReadOnly] for a store that is open for reading only, unless opts.ReadOnly is set.
func (g *guests) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	tx, err := g.begin(ctx, opts, caller())
	if err != nil {
		return nil, failed("begin", err, provider.OutcomeNothing)
	}
	return tx, nil
}

func (g *guests) begin(ctx context.Context, opts *sql.TxOptions, from uintptr) (*sql.Tx, error) {
	s, reads := g.store, opts != nil && opts.ReadOnly
	if g.readOnly && !reads {
		return nil, refused("begin")
	}
	if err := provider.CheckPast(ctx); err != nil {
		return nil, err
	}
	if err := g.door.Enter(ctx); err != nil {
		return nil, err
	}
	defer g.door.Leave()
	s.checkPlace()
	if err := s.misplaced(); err != nil {
		return nil, err
	}
	db := g.own.open(s)
	turn, ctx := g.own.turn(ctx)
	if !reads {
		if err := s.gate.enter(ctx.Done(), g.door.Closing); err != nil {
			err = begun(ctx, err)
			turn.end()
			return nil, err
		}
		turn.enter(s.gate, s.writer, &origin{from, time.Now()})
	}
	tx, err := db.BeginTx(context.WithValue(ctx, turnKey{}, turn), opts)
	if err != nil {
		turn.end()
		return nil, s.whoHolds(err)
	}
	return tx, nil
}

// begun is the error of a wait for a turn that was ended.
func begun(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, errLeave):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return provider.ErrClosed
	}
}

// own has the connections of the program's transactions, which are opened on demand.
type own struct {
	mu    sync.Mutex
	db    *sql.DB
	turns map[*turn]struct{}
	ended sync.WaitGroup
}

// ownIdle is how many connections stay open. One writes at a time. The others read.
const ownIdle = 2

func (o *own) open(s *store) *sql.DB {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.db == nil {
		o.db, o.turns = sql.OpenDB(ownConnector{s.dsn}), make(map[*turn]struct{})
		o.db.SetMaxIdleConns(ownIdle)
	}
	return o.db
}

// turn makes a turn for a transaction that is about to begin, and the context that ends it.
func (o *own) turn(ctx context.Context) (*turn, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	t := &turn{own: o, cancel: cancel}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turns[t] = struct{}{}
	o.ended.Add(1)
	return t, ctx
}

// close rolls back open transactions and waits until that is done.
func (o *own) close() error {
	o.mu.Lock()
	if o.db == nil {
		o.mu.Unlock()
		return nil
	}
	for t := range o.turns {
		t.cancel()
	}
	o.mu.Unlock()
	o.ended.Wait()
	if err := o.db.Close(); err != nil {
		return fmt.Errorf("close the connections of BeginTx: %w", err)
	}
	return nil
}

// A turn lasts as long as one transaction of the program. If the transaction writes, the turn also holds the entrance.
type turn struct {
	own    *own
	cancel context.CancelFunc
	once   sync.Once
	gate   *entrance
	writer *writer
}

type turnKey struct{}

func (t *turn) enter(gate *entrance, w *writer, from *origin) {
	t.gate, t.writer = gate, w
	gate.held.Store(from)
}

// end lets the next transaction in. The writer looks at once for what was stored.
func (t *turn) end() {
	t.once.Do(func() {
		t.cancel()
		if t.gate != nil {
			t.gate.held.Store(nil)
			t.gate.leave()
			t.writer.nudged.Store(true)
			t.writer.queue.Wake()
		}
		t.own.mu.Lock()
		delete(t.own.turns, t)
		t.own.mu.Unlock()
		t.own.ended.Done()
	})
}

// ownConnector opens connections whose transactions end turns.
type ownConnector struct{ dsn string }

// Connect implements [driver.Connector].
func (c ownConnector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := connect(ctx, c.dsn)
	if err != nil {
		return nil, err
	}
	raw, ok := made.raw.(rawConn)
	if !ok {
		return nil, errors.Join(errDriver, made.close())
	}
	return &ownConn{rawConn: raw}, nil
}

// Driver implements [driver.Connector]. It is not used.
func (c ownConnector) Driver() driver.Driver { return nil }

// rawConn is what package database/sql uses of a driver's connection.
type rawConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type ownConn struct {
	rawConn

	spoilt bool // a transaction may still be open
}

// IsValid implements [driver.Validator].
func (c *ownConn) IsValid() bool { return !c.spoilt && c.rawConn.IsValid() }

// BeginTx implements [driver.ConnBeginTx].
func (c *ownConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	turn, ok := ctx.Value(turnKey{}).(*turn)
	if !ok {
		return nil, errDriver
	}
	if err := c.queryOnly(opts.ReadOnly); err != nil { //nolint:contextcheck // it does not block
		return nil, err
	}
	tx, err := c.rawConn.BeginTx(ctx, driver.TxOptions{ReadOnly: opts.ReadOnly}) // serializable is the only level
	if err != nil {
		return nil, err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	return &ownTx{tx, c, turn}, nil
}

// queryOnly refuses or allows writes.
func (c *ownConn) queryOnly(on bool) error {
	state := "0"
	if on {
		state = "1"
	}
	_, err := c.ExecContext(writerContext(), "PRAGMA query_only = "+state, nil)
	return err //nolint:wrapcheck // failed wraps it once, with the method's name
}

type ownTx struct {
	tx   driver.Tx
	conn *ownConn
	turn *turn
}

// Commit implements [driver.Tx].
func (t *ownTx) Commit() error {
	defer t.turn.end()
	return t.tx.Commit() //nolint:wrapcheck // the program's own transaction
}

// Rollback implements [driver.Tx].
func (t *ownTx) Rollback() error {
	defer t.turn.end()
	err := t.tx.Rollback()
	t.conn.spoilt = err != nil && !noTransaction(err)
	return err //nolint:wrapcheck // the program's own transaction
}
