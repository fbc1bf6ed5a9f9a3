package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/provider"
)

// A damage is a stored item that cannot be read. It concerns its instance alone, which is held back and shown as Blocked,
// so that it does not block others for ever.
type damage struct {
	ref     provider.TaskRef // an instance if EventID is 0
	err     error
	written bool // the item was read, and a page next to it is broken: fetches pass over it, and it is not held back
}

func (d *damage) Error() string {
	if d.ref.EventID == 0 {
		return fmt.Sprintf("instance %s: %v", d.ref.Key, d.err)
	}
	return fmt.Sprintf("instance %s: task of execution %d, event %d: %v", d.ref.Key, d.ref.Execution, d.ref.EventID, d.err)
}

func (d *damage) Unwrap() error { return d.err }

// damageTo names the item that an error is about if the item is damaged.
func damageTo(ref provider.TaskRef, err error) error {
	if !damaged(err) {
		return err
	}
	return &damage{ref: ref, err: err}
}

// unwritten names the instance whose row could not be written. SQLite moves rows between a page and those next to it, so the row
// itself may be sound.
func unwritten(key provider.UUID, err error) error {
	if !damaged(err) {
		return err
	}
	return &damage{ref: provider.TaskRef{Key: key}, err: err, written: true}
}

// maxDamage bounds how often a group is run again, each time without one more damaged item.
const maxDamage = 100

const sqlHoldBack = `UPDATE perdure_instance SET fetch_at = NULL, lease_until = 0, blocked = 1, retry_at = 0, blocked_reason = 'corrupt',
	blocked_message = ?, blocked_count = blocked_count + 1, blocked_since = ? WHERE key = ?`

// noteDamage notes a damaged item. It returns false if the error names none.
func (cl *claimer) noteDamage(err error) bool {
	d, ok := errors.AsType[*damage](err)
	if ok {
		cl.tx.schedule.skips[d.ref] = time.Now().Add(skipFor)
		cl.damages = append(cl.damages, d)
	}
	return ok
}

// showDamage shows the instances of damaged items as Blocked. Blocked instances are not fetched. Their tasks are, and so
// are instances whose flag cannot be written.
func (cl *claimer) showDamage() {
	for _, d := range cl.damages {
		if d.written {
			cl.logLimiter.report("fetches pass over an instance: its row cannot be written", d)
			continue
		}
		cl.logLimiter.report("an instance is held back: something of it cannot be read", d)
		if err := cl.holdBack(d); err != nil {
			cl.logLimiter.report("a damaged instance cannot be shown as blocked", err)
		} else if d.ref.EventID == 0 {
			delete(cl.tx.schedule.skips, d.ref)
		}
	}
	cl.damages = cl.damages[:0]
}

func (cl *claimer) holdBack(d *damage) error {
	err := cl.committer.run(func() error {
		cl.committer.forget()
		_, err := cl.tx.exec(sqlHoldBack, d.Error(), cl.tx.Now, d.ref.Key)
		cl.tx.MarkChanged(d.ref.Key)
		return err
	})
	if err == nil {
		cl.committer.publish()
	}
	return err
}

// logRepeatAfter is how long the same fault is not logged again.
const logRepeatAfter = time.Minute

// A logLimiter logs the faults that no call returns, each at most once in logRepeatAfter.
type logLimiter struct {
	log  *slog.Logger
	path string
	last map[string]time.Time
}

// report logs a fault, unless it was logged a short while ago.
func (l *logLimiter) report(what string, err error) {
	text := what + err.Error()
	if time.Since(l.last[text]) < logRepeatAfter {
		return
	}
	if len(l.last) > maxHeads {
		clear(l.last)
	}
	l.last[text] = time.Now()
	l.log.Error("perdure sqlite: "+what, "path", l.path, "error", err)
}
