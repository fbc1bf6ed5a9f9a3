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
func (tr *transactor) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	tx, err := tr.begin(ctx, opts, caller())
	if err != nil {
		return nil, failed("begin", err, provider.OutcomeNothing)
	}
	return tx, nil
}

func (tr *transactor) begin(ctx context.Context, opts *sql.TxOptions, from uintptr) (*sql.Tx, error) {
	s, reads := tr.store, opts != nil && opts.ReadOnly
	if tr.readOnly && !reads {
		return nil, refused("begin")
	}
	if err := provider.CheckPast(ctx); err != nil {
		return nil, err
	}
	if err := tr.door.Enter(ctx); err != nil {
		return nil, err
	}
	defer tr.door.Leave()
	s.checkPaths()
	if err := s.pathError(); err != nil {
		return nil, err
	}
	db := tr.txs.open(s)
	slot, ctx := tr.txs.newSlot(ctx)
	if !reads {
		if err := s.writeQueue.enter(ctx.Done(), tr.door.Closing); err != nil {
			err = waitError(ctx, err)
			slot.end()
			return nil, err
		}
		slot.enter(s.writeQueue, s.writer, &origin{from, time.Now()})
	}
	tx, err := db.BeginTx(context.WithValue(ctx, txSlotKey{}, slot), opts)
	if err != nil {
		slot.end()
		return nil, s.explainBusy(err)
	}
	return tx, nil
}

// waitError is the error of a wait for the file that was ended.
func waitError(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, errWaitEnded):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return provider.ErrClosed
	}
}

// programTxs has the connections of the program's transactions, which are opened on demand.
type programTxs struct {
	mu    sync.Mutex
	db    *sql.DB
	slots map[*txSlot]struct{}
	ended sync.WaitGroup
}

// idleConns is how many connections stay open. One writes at a time. The others read.
const idleConns = 2

func (p *programTxs) open(s *store) *sql.DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db == nil {
		p.db, p.slots = sql.OpenDB(programConnector{s.dsn}), make(map[*txSlot]struct{})
		p.db.SetMaxIdleConns(idleConns)
	}
	return p.db
}

// newSlot makes a slot for a transaction that is about to begin, and the context that ends it.
func (p *programTxs) newSlot(ctx context.Context) (*txSlot, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	slot := &txSlot{txs: p, cancel: cancel}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots[slot] = struct{}{}
	p.ended.Add(1)
	return slot, ctx
}

// close rolls back open transactions and waits until that is done.
func (p *programTxs) close() error {
	p.mu.Lock()
	if p.db == nil {
		p.mu.Unlock()
		return nil
	}
	for slot := range p.slots {
		slot.cancel()
	}
	p.mu.Unlock()
	p.ended.Wait()
	if err := p.db.Close(); err != nil {
		return fmt.Errorf("close the connections of BeginTx: %w", err)
	}
	return nil
}

// A txSlot lasts as long as one transaction of the program. If the transaction writes, the slot also holds the write queue.
type txSlot struct {
	txs    *programTxs
	cancel context.CancelFunc
	once   sync.Once
	queue  *writeQueue
	writer *writer
}

type txSlotKey struct{}

func (s *txSlot) enter(queue *writeQueue, w *writer, from *origin) {
	s.queue, s.writer = queue, w
	queue.holder.Store(from)
}

// end lets the next transaction in. The writer polls at once for what was stored.
func (s *txSlot) end() {
	s.once.Do(func() {
		s.cancel()
		if s.queue != nil {
			s.queue.holder.Store(nil)
			s.queue.leave()
			s.writer.ownTxEnded.Store(true)
			s.writer.queue.Wake()
		}
		s.txs.mu.Lock()
		delete(s.txs.slots, s)
		s.txs.mu.Unlock()
		s.txs.ended.Done()
	})
}

// A programConnector opens connections whose transactions end their slots.
type programConnector struct{ dsn string }

// Connect implements [driver.Connector].
func (c programConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := connect(ctx, c.dsn)
	if err != nil {
		return nil, err
	}
	raw, ok := opened.raw.(rawConn)
	if !ok {
		return nil, errors.Join(errDriver, opened.close())
	}
	return &programConn{rawConn: raw}, nil
}

// Driver implements [driver.Connector]. It is not used.
func (c programConnector) Driver() driver.Driver { return nil }

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

type programConn struct {
	rawConn

	unusable bool // a transaction may still be open
}

// IsValid implements [driver.Validator].
func (c *programConn) IsValid() bool { return !c.unusable && c.rawConn.IsValid() }

// BeginTx implements [driver.ConnBeginTx].
func (c *programConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	slot, ok := ctx.Value(txSlotKey{}).(*txSlot)
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
	return &programTx{tx, c, slot}, nil
}

// queryOnly refuses or allows writes.
func (c *programConn) queryOnly(on bool) error {
	state := "0"
	if on {
		state = "1"
	}
	_, err := c.ExecContext(writerContext(), "PRAGMA query_only = "+state, nil)
	return err //nolint:wrapcheck // failed wraps it once, with the method's name
}

type programTx struct {
	tx   driver.Tx
	conn *programConn
	slot *txSlot
}

// Commit implements [driver.Tx].
func (t *programTx) Commit() error {
	defer t.slot.end()
	return t.tx.Commit() //nolint:wrapcheck // the program's own transaction
}

// Rollback implements [driver.Tx].
func (t *programTx) Rollback() error {
	defer t.slot.end()
	err := t.tx.Rollback()
	t.conn.unusable = err != nil && !noTransaction(err)
	return err //nolint:wrapcheck // the program's own transaction
}
