package sqlite

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// A damage is a stored item that cannot be read. It concerns its instance alone, which is
// held back and shown as Blocked, so that it does not stand before others for ever.
type damage struct {
	ref provider.TaskRef // an instance if EventID is 0
	err error
}

func (d *damage) Error() string {
	if d.ref.EventID == 0 {
		return fmt.Sprintf("instance %s: %v", d.ref.Key, d.err)
	}
	return fmt.Sprintf("instance %s: task of execution %d, event %d: %v", d.ref.Key, d.ref.Execution, d.ref.EventID, d.err)
}

func (d *damage) Unwrap() error { return d.err }

// damageTo names the item that an error is about if it is damaged.
func damageTo(ref provider.TaskRef, err error) error {
	if !damaged(err) {
		return err
	}
	return &damage{ref, err}
}

const (
	// shunFor is how long fetches pass over a damaged item before they try it again.
	shunFor = time.Minute
	// maxDamage bounds how many damaged items one fetch deals with.
	maxDamage = 100
)

const sqlHoldBack = `UPDATE perdure_instance SET fetch_at = NULL, lease_until = 0, blocked = 1, retry_at = 0, blocked_reason = 'corrupt',
	blocked_message = ?, blocked_count = blocked_count + 1, blocked_since = ? WHERE key = ?`

// shunned tells whether a fetch should pass over an item.
func (w *writer) shunned(ref provider.TaskRef) bool {
	until, ok := w.shuns[ref]
	if ok && time.Now().After(until) {
		delete(w.shuns, ref)
		return false
	}
	return ok
}

// tryApart is try in a savepoint: damage that the call meets undoes nothing of others.
func (w *writer) tryApart(c *parked) error {
	found, err := c.find(&w.tx)
	for n := 0; err == nil && found && n < maxDamage; n++ {
		if err := w.begin(); err != nil {
			return err
		}
		own, err := w.guard(func() (err error) {
			c.found, err = c.take(&w.tx)
			return err
		})
		if err != nil {
			return err
		}
		if own == nil {
			return nil
		}
		c.found, c.err = false, failed(c.op, own, provider.OutcomeNothing)
		d, ok := errors.AsType[*damage](own)
		if !ok {
			return nil
		}
		if err := w.holdBack(d); err != nil {
			return err
		}
		c.err = nil
		found, err = c.find(&w.tx)
		if err != nil {
			break
		}
	}
	if damaged(err) {
		c.err, err = failed(c.op, err, provider.OutcomeNothing), nil
	}
	return err
}

// sweepApart is sweep in a savepoint.
func (w *writer) sweepApart() error {
	if err := w.begin(); err != nil {
		return err
	}
	for range maxDamage {
		own, err := w.guard(w.sweep)
		if err != nil || own == nil {
			return err
		}
		d, ok := errors.AsType[*damage](own)
		if !ok {
			w.complain("leases cannot be swept", own)
			return nil
		}
		if err := w.holdBack(d); err != nil {
			return err
		}
	}
	return nil
}

// holdBack shows a damaged instance as Blocked. If not even that can be written, fetches
// pass over it all the same.
func (w *writer) holdBack(d *damage) error {
	w.shuns[d.ref] = time.Now().Add(shunFor)
	w.complain("an instance is held back: something of it cannot be read", d)
	own, err := w.guard(func() error {
		_, err := w.tx.exec(sqlHoldBack, d.Error(), w.tx.now, d.ref.Key)
		w.tx.forget()
		return err
	})
	if err != nil {
		return err
	}
	if own != nil {
		w.complain("a damaged instance cannot be shown as blocked", own)
	}
	return nil
}

// complain logs a fault that no caller is told about, each once in a while only.
func (w *writer) complain(what string, err error) {
	text := what + err.Error()
	if time.Since(w.complaints[text]) < shunFor {
		return
	}
	if len(w.complaints) > maxHeads {
		clear(w.complaints)
	}
	w.complaints[text] = time.Now()
	w.store.log.Error("perdure sqlite: "+what, "path", w.store.path, "error", err)
}
