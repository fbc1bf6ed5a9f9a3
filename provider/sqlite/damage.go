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
	shunFor = 10 * time.Second
	// quietFor is how long the same complaint is not logged again.
	quietFor = time.Minute
	// maxDamage bounds how often a group is run again, each time without one more damaged item.
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

// pardon lets fetches try an instance and its tasks again, because a person says that they are
// mended.
func (w *writer) pardon(key provider.UUID) {
	for ref := range w.shuns {
		if ref.Key == key {
			delete(w.shuns, ref)
		}
	}
	w.due.stale = true
}

// mindful makes the writer come back when an item need not be passed over any longer, and not
// without pause for one whose lease cannot be ended.
func (w *writer) mindful(due int64) int64 {
	if len(w.shuns) == 0 {
		return due
	}
	next := shunFor
	for ref, until := range w.shuns {
		left := time.Until(until)
		if left <= 0 {
			delete(w.shuns, ref)
		}
		next = min(next, left)
	}
	now := w.tx.Elapsed
	return min(max(due, now+micros(time.Second)), now+max(micros(next), 1))
}

// tryApart is try in a savepoint. Damage that the call meets undoes nothing of others: the
// item is passed over when the group runs again. Damage to what is common to all fails the call.
func (w *writer) tryApart(c *parked) error {
	found, own := c.find(w.tx)
	if own == nil && !found {
		return nil
	}
	if own == nil {
		if err := w.begin(); err != nil {
			return err
		}
		var err error
		own, err = w.guard(func() (err error) {
			c.found, err = c.take(w.tx)
			return err
		})
		if own == nil {
			return err
		}
	}
	c.found = false
	if !damaged(own) {
		return own
	}
	if !w.meet(own) {
		c.err = failed(c.op, own, provider.OutcomeNothing)
	}
	return errRerun
}

// sweepApart is sweep in a savepoint.
func (w *writer) sweepApart() error {
	if time.Now().Before(w.unswept) {
		return nil
	}
	if err := w.begin(); err != nil {
		return err
	}
	own, err := w.guard(w.sweep)
	if own == nil {
		return err
	}
	if !w.meet(own) {
		w.complain("leases cannot be swept", own)
		w.unswept = time.Now().Add(time.Second)
	}
	return errRerun
}

// meet takes note of a damaged item; false if the error names none.
func (w *writer) meet(err error) bool {
	d, ok := errors.AsType[*damage](err)
	if ok {
		w.shuns[d.ref] = time.Now().Add(shunFor)
		w.met = append(w.met, d)
	}
	return ok
}

// showDamage shows the instances of damaged items as Blocked. Blocked instances are not
// fetched; their tasks are, and instances where not even the flag can be written.
func (w *writer) showDamage() {
	for _, d := range w.met {
		w.complain("an instance is held back: something of it cannot be read", d)
		if err := w.holdBack(d); err != nil {
			w.complain("a damaged instance cannot be shown as blocked", err)
		} else if d.ref.EventID == 0 {
			delete(w.shuns, d.ref)
		}
	}
	w.met = w.met[:0]
}

func (w *writer) holdBack(d *damage) error {
	t := w.tx
	t.afresh()
	if err := w.begin(); err != nil {
		return err
	}
	t.forget()
	if _, err := t.exec(sqlHoldBack, d.Error(), t.Now, d.ref.Key); err != nil {
		w.rollback()
		return err
	}
	t.News(d.ref.Key)
	if err := w.finish(); err != nil {
		return err
	}
	w.publish()
	return nil
}

// complain logs a fault that no caller is told about, each once in a while only.
func (w *writer) complain(what string, err error) {
	text := what + err.Error()
	if time.Since(w.complaints[text]) < quietFor {
		return
	}
	if len(w.complaints) > maxHeads {
		clear(w.complaints)
	}
	w.complaints[text] = time.Now()
	w.store.log.Error("perdure sqlite: "+what, "path", w.store.path, "error", err)
}
