package sqlite

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A committer begins and ends the writer's transactions, and publishes what they did.
type committer struct {
	store   *store
	tx      *tx
	others  *otherProcesses
	begun   bool
	rows    map[provider.UUID]*provider.Instance // of the transaction, for the calls that wait for them
	turns   atomic.Int64
	dropped atomic.Int64
}

// reset begins a transaction's count of what it did.
func (c *committer) reset() {
	c.tx.Effects, c.tx.Changes, c.tx.owners.added = relational.NewEffects(), 0, nil
	c.tx.Touched, c.tx.named = c.tx.Touched[:0], false
}

// run runs fn in a transaction of its own.
func (c *committer) run(fn func() error) error {
	c.reset()
	if err := c.begin(); err != nil {
		return err
	}
	if err := fn(); err != nil {
		c.rollback()
		return err
	}
	return c.commit()
}

// begin opens the transaction unless it is open.
func (c *committer) begin() error {
	if c.begun {
		return nil
	}
	if err := c.store.writeQueue.enter(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	t := c.tx
	if _, err := t.db.exec("BEGIN IMMEDIATE"); err != nil {
		c.store.writeQueue.leave()
		return fmt.Errorf("begin: %w", c.store.explainBusy(err))
	}
	c.begun = true
	t.skew = t.clock.skew()
	t.tick()
	if err := c.poll(); err != nil {
		c.rollback()
		return fmt.Errorf("begin: %w", err)
	}
	if len(t.Heads) > maxHeads {
		clear(t.Heads)
		clear(t.rowCache)
	}
	return nil
}

// poll polls for commits of other processes, which make all that is cached of the file stale.
func (c *committer) poll() error {
	stale, err := c.others.poll(c.tx.db, c.begun)
	if stale {
		c.forget()
		c.tx.schedule.stale = true
	}
	return err
}

// forget drops all that is cached of the file.
func (c *committer) forget() {
	t := c.tx
	t.Forget()
	clear(t.rowCache)
	clear(t.emptyKinds)
	c.store.hub.ForgetAlive()
	t.forgetKinds()
}

// commit ends the transaction: by COMMIT if it changed anything. The rows of ended instances that a call waits for are read
// first, which saves each such call a read.
func (c *committer) commit() error {
	if !c.begun {
		return nil
	}
	if c.tx.Changes == 0 {
		c.begun, c.tx.named = false, false
		_, err := c.tx.db.exec("ROLLBACK")
		c.store.writeQueue.leave()
		return err
	}
	c.attachRows()
	_, err := c.tx.db.exec("COMMIT")
	if err != nil {
		c.store.writer.unnamed.Add(1) // it may be stored, and nobody will be woken
		c.rollback()
		return &commitError{err}
	}
	c.tx.named = false
	c.begun, c.tx.read.added = false, false
	c.others.committed()
	c.store.writeQueue.leave()
	return nil
}

// rollback ends a transaction that failed. If SQLite has ended it already, the statement fails and there is nothing to undo.
func (c *committer) rollback() {
	c.forget()
	c.tx.read.added, c.tx.named = false, false
	if !c.begun {
		return
	}
	c.begun = false
	if _, err := c.tx.db.exec("ROLLBACK"); err != nil && !noTransaction(err) {
		c.store.log.Error("perdure sqlite: rollback failed", "path", c.store.path, "error", err)
	}
	c.store.writeQueue.leave()
}

// guard runs fn in a savepoint. A fault of fn's own undoes all that fn did and leaves the transaction whole, unless it asks
// for a rerun, too. It is returned separately from an error that ends the transaction.
func (c *committer) guard(fn func() error) (own, err error) {
	t := c.tx
	if err := t.Flush(); err != nil {
		return nil, err
	}
	if _, err := t.db.exec("SAVEPOINT member"); err != nil {
		return nil, err
	}
	outer, changes, enrolled := t.Effects, t.Changes, len(t.owners.added)
	t.Effects = relational.NewEffects()
	own = fn()
	if own == nil {
		own = t.Flush()
	}
	mine := t.Effects
	t.Effects = outer
	if own == nil {
		t.Effects.Merge(&mine)
		_, err := t.db.exec("RELEASE member")
		return nil, err
	}
	if !ownFault(own) {
		return nil, own
	}
	if brokenPage(own) {
		return own, errRerun
	}
	t.Changes, t.owners.added = changes, t.owners.added[:enrolled]
	c.forget()
	if _, err := t.db.exec("ROLLBACK TO member"); err != nil {
		return nil, err
	}
	_, err = t.db.exec("RELEASE member")
	return own, err
}

// publish reports what the committed transaction did to waiting calls and listeners, never before the commit.
func (c *committer) publish() {
	t, fx, hub := c.tx, &c.tx.Effects, c.store.hub
	c.turns.Add(fx.Commits)
	c.dropped.Add(fx.Dropped)
	t.owners.commit()
	t.emptyKinds.invalidate(t)
	t.schedule.lowerDue(fx.Due, fx.ElapsedDue)
	hub.MarkAlive(fx.Created)
	for _, key := range fx.Changed {
		hub.Wake(key, c.rowOf(key))
		delete(t.rowCache, key)
	}
	for _, a := range fx.Answers {
		hub.Reply(a)
	}
	hub.Announce(fx.Notices)
	hub.WakeFollowers(t.Touched, fx)
}

// attachRows reads the rows that waiting calls will want.
func (c *committer) attachRows() {
	clear(c.rows)
	for _, key := range c.tx.Effects.Changed {
		if c.store.hub.Watched(key) {
			if in, err := c.tx.Row(key); err == nil { // else they read, and get the error themselves
				c.rows[key] = &in
			}
		}
	}
}

// rowOf returns the row that was read. For a call that began to wait during the commit it returns what is known without
// reading, nil if there is nothing.
func (c *committer) rowOf(key provider.UUID) *provider.Instance {
	row := c.rows[key]
	if row == nil && c.store.hub.Watched(key) {
		if in, ok := c.tx.cachedInstance(key); ok {
			row = &in
		}
	}
	return row
}
