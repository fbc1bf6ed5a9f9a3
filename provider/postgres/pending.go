package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider/internal/relational"
)

// How often is asked whether the transactions of callers are over: after a tenth of their age, within these bounds.
const (
	firstPending = 5 * time.Millisecond
	lastPending  = 30 * time.Millisecond
)

// pending are the transactions of callers that something was stored in, and what others must hear once they have
// committed. Nobody tells when that is, and a NOTIFY inside of them would make them wait for each other: so it is asked for, in one
// statement for all of them.
type pending struct {
	p     *Provider
	ended sync.WaitGroup
	added chan struct{}

	mu   sync.Mutex
	open map[string]*joined // by the ID of the transaction
}

// joined is one transaction of a caller.
type joined struct {
	since time.Time
	fx    relational.Effects
}

func startPending(p *Provider) *pending {
	w := &pending{p: p, added: make(chan struct{}, 1), open: make(map[string]*joined)}
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

// watch asks for the open transactions until the provider closes.
func (w *pending) watch() {
	timer := time.NewTimer(lastPending)
	defer timer.Stop()
	for asked := time.Now(); ; {
		ids, wait := w.next()
		var due <-chan time.Time
		if len(ids) > 0 {
			timer.Reset(wait - time.Since(asked)) // however often others are added meanwhile
			due = timer.C
		}
		select {
		case <-w.added:
			if len(ids) == 0 {
				asked = time.Now() // it is not over yet
			}
			continue
		case <-w.p.signals.ctx.Done():
			return
		case <-due:
		}
		asked = time.Now()
		if err := w.ask(ids); err != nil && w.p.hard.Err() == nil {
			w.p.opts.Logger.Debug("perdure postgres: whether callers' transactions are over cannot be asked", "error", err)
		}
	}
}

// next answers what to ask for, and when: a share of the age of the youngest.
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

// Not asked for is what cannot be over: the server refuses an ID of the future, which one is that it gave before a crash.
const sqlOver = `SELECT id, status FROM unnest($1::text[]) w (id), LATERAL (SELECT CASE
	WHEN id::xid8 < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(id::xid8) ELSE 'in progress' END) s (status)
	WHERE status IS DISTINCT FROM 'in progress'`

// ask finds out which transactions are over and tells of those that have committed, or of which nobody knows any more.
func (w *pending) ask(ids []string) error {
	ctx, cancel := w.p.bounded(context.WithoutCancel(w.p.hard))
	defer cancel()
	rows, err := w.p.pool.Query(ctx, sqlOver, ids)
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
			w.p.signals.publish(&j.fx, nil)
		}
		return nil
	})
	return err
}
