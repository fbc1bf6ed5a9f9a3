package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How calls are folded. Two committers keep the server busy while one waits for its disk.
const (
	committers    = 2
	maxGroup      = 64
	maxGroupBytes = 8 << 20
	maxAlone      = 4  // calls that run in a transaction of their own at once
	maxTries      = 20 // of such a call, while it finds that it needs more
)

// A writer folds the calls of a process that change instances into transactions.
type writer struct {
	p       *Provider
	queue   *relational.Queue
	alone   chan struct{}
	ended   sync.WaitGroup
	ctx     context.Context //nolint:containedctx // a group belongs to no caller, so that no caller's context may end it
	cancel  context.CancelFunc
	commits atomic.Int64
	turns   atomic.Int64
	dropped atomic.Int64
}

func startWriter(p *Provider) *writer {
	w := &writer{p: p, queue: relational.NewQueue(), alone: make(chan struct{}, maxAlone)}
	w.ctx, w.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // see the field
	for range committers {
		w.ended.Go(w.loop)
	}
	return w
}

// stop ends the committers after what is queued.
func (w *writer) stop() {
	w.queue.Stop()
	w.ended.Wait()
	w.cancel()
}

func (w *writer) loop() {
	for {
		group, stopped := w.queue.Take(nil, maxGroup, maxGroupBytes)
		if len(group) == 0 {
			if stopped {
				w.queue.Poke() // the other committers wait for it, too
				return
			}
			<-w.queue.Signal
			continue
		}
		if len(group) == maxGroup {
			w.queue.Poke() // there may be more
		}
		for _, m := range w.together(group) {
			w.alone <- struct{}{}
			w.ended.Go(func() {
				defer func() { <-w.alone }()
				w.byItself(m)
			})
		}
	}
}

// write runs fn in a group and waits for its commit. The result is the member's own until
// then: a caller that gave up must not share it.
func write[T any](
	ctx context.Context, p *Provider, op string, bytes int, needs relational.Needs, fn func(*relational.Tx, *T) error,
) (T, error) {
	return enqueue(ctx, p, op, bytes, needs, false, fn)
}

func enqueue[T any](
	ctx context.Context, p *Provider, op string, bytes int, needs relational.Needs, urgent bool, fn func(*relational.Tx, *T) error,
) (T, error) {
	var zero T
	out := new(T)
	m := &relational.Member{Op: op, Bytes: bytes, Needs: needs, Done: make(chan struct{}), Run: func(t *relational.Tx) error {
		*out = zero // it may run again
		return fn(t, out)
	}}
	if err := p.enter(ctx); err != nil {
		return zero, err
	}
	defer p.leave()
	if err := p.writer.queue.Await(ctx, p.closing, m, urgent); err != nil {
		return zero, err
	}
	return *out, nil
}

// later runs fn in a group that nobody waits for.
func (w *writer) later(op string, needs relational.Needs, fn func(*relational.Tx) error) *relational.Member {
	m := &relational.Member{Op: op, Needs: needs, Run: fn, Done: make(chan struct{})}
	if !w.queue.Submit(m, false) {
		close(m.Done)
	}
	return m
}

// together runs a group in one transaction. It answers the members that must go by themselves; all
// others are done.
func (w *writer) together(group []*relational.Member) (alone []*relational.Member) {
	ctx, cancel := w.p.bounded(w.ctx)
	defer cancel()
	var needs relational.Needs
	for _, m := range group {
		needs.Add(&m.Needs)
	}
	conn, err := w.p.pool.Acquire(ctx)
	if err != nil {
		finish(group, err, provider.OutcomeNothing)
		return nil
	}
	defer conn.Release()
	u := newUnit(ctx, w.p, conn.Conn(), false)
	if err := u.begin(needs); err != nil {
		u.rollback()
		if len(group) > 1 && !lost(err) { // one of them is at fault, and shows by itself
			return group
		}
		finish(group, err, provider.OutcomeNothing)
		return nil
	}
	t, done, alone, err := runMembers(u, group)
	if err != nil {
		u.rollback()
		return group
	}
	if len(done) == 0 {
		u.rollback()
		return alone
	}
	err = w.end(u, t)
	switch outcome := outcomeOf(err); {
	case err != nil && outcome == provider.OutcomeNothing && len(done) > 1:
		return append(alone, done...)
	default:
		finish(done, err, outcome)
	}
	return alone
}

// runMembers judges each call. One that is refused is done without a trace; one that needs more goes alone. An error answered here
// ends the transaction.
func runMembers(u *unit, group []*relational.Member) (t *relational.Tx, done, alone []*relational.Member, err error) {
	t = &relational.Tx{
		Rows: u, Now: u.now, Elapsed: int64(u.now), Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects(),
	}
	for _, m := range group {
		err := runMember(u, t, m)
		var need *errNeed
		switch {
		case err == nil:
			m.Err = nil
			done = append(done, m)
		case errors.Is(err, errSent):
			return t, done, alone, err
		case errors.As(err, &need) || errors.Is(err, errHeld):
			alone = append(alone, m)
		case isAnswer(err) || errors.Is(err, errRow):
			m.Err = failed(m.Op, err, provider.OutcomeNothing)
			close(m.Done)
		default:
			return t, done, alone, err
		}
	}
	return t, done, alone, nil
}

// errSent says that a call was refused after some of the group was sent, so that it cannot be taken back by itself.
var errSent = errors.New("a call was refused after it had written")

// runMember runs one call and takes back what it did if it fails.
func runMember(u *unit, t *relational.Tx, m *relational.Member) error {
	outer := t.Effects
	t.Effects = relational.NewEffects()
	t.Begin()
	before := u.ops.begin()
	u.sent = false
	err := m.Run(t)
	mine := t.Effects
	t.Effects = outer
	if err == nil {
		t.Effects.Merge(&mine)
		return nil
	}
	if u.sent {
		return errors.Join(errSent, err)
	}
	t.Undo()
	u.ops.rollback(before)
	return err
}

// end writes the heads and commits; then everybody whom it concerns is told.
func (w *writer) end(u *unit, t *relational.Tx) error {
	if t.Changes == 0 {
		return u.rollback()
	}
	if err := t.Flush(); err != nil {
		u.rollback()
		return err
	}
	if err := u.commit(); err != nil {
		u.rollback()
		return err
	}
	w.commits.Add(1)
	w.turns.Add(t.Effects.Commits)
	w.dropped.Add(t.Effects.Dropped)
	w.p.signals.publish(&t.Effects)
	return nil
}

// rollback ends a transaction that is to leave no trace. A connection that cannot do that
// is closed: its server ends the transaction then.
func (u *unit) rollback() error {
	if u.conn.IsClosed() || u.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	if _, err := u.conn.Exec(u.ctx, "ROLLBACK"); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), time.Second)
		defer cancel()
		return errors.Join(err, u.conn.Close(ctx))
	}
	return nil
}

// finish answers members.
func finish(group []*relational.Member, err error, outcome provider.Outcome) {
	for _, m := range group {
		m.Err = failed(m.Op, err, outcome)
		close(m.Done)
	}
}

// byItself runs one call in a transaction of its own, which waits for locks. Renewals must not wait while they hold locks, so
// they try again.
func (w *writer) byItself(m *relational.Member) {
	waits := len(m.Needs.Peek) == 0
	for try := 1; ; try++ {
		again, err, outcome := w.tryAlone(m, waits)
		if isUnique(err, "instance_") { // another one made it meanwhile, which the call will see now
			again = true
		}
		if again && try < maxTries {
			if errors.Is(err, errHeld) {
				w.pause(try)
			}
			continue
		}
		if isUnique(err, "") {
			err = fmt.Errorf("a task or timer of the call is there already: %w", provider.ErrInvalid)
		}
		finish([]*relational.Member{m}, err, outcome)
		return
	}
}

// pause lets whoever holds a row finish.
func (w *writer) pause(try int) {
	timer := time.NewTimer(time.Duration(1+rand.IntN(4*try)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

// tryAlone runs a call once; again says that it may be repeated.
func (w *writer) tryAlone(m *relational.Member, wait bool) (again bool, err error, outcome provider.Outcome) {
	ctx, cancel := w.p.bounded(w.ctx)
	defer cancel()
	conn, err := w.p.pool.Acquire(ctx)
	if err != nil {
		return false, err, provider.OutcomeNothing
	}
	defer conn.Release()
	u := newUnit(ctx, w.p, conn.Conn(), wait)
	if err := u.begin(m.Needs); err != nil {
		u.rollback()
		return sqlState(err) == stateLockTimeout, err, provider.OutcomeNothing
	}
	t := &relational.Tx{
		Rows: u, Now: u.now, Elapsed: int64(u.now), Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects(),
	}
	if err := m.Run(t); err != nil {
		u.rollback()
		var need *errNeed
		if !errors.As(err, &need) {
			return errors.Is(err, errHeld), err, provider.OutcomeNothing
		}
		m.Needs.Add(&need.needs)
		if need.turn != nil || need.task != nil {
			if err := w.p.addKind(ctx, need); err != nil {
				return false, err, provider.OutcomeNothing
			}
		}
		return true, err, provider.OutcomeNothing
	}
	err = w.end(u, t)
	return false, err, outcomeOf(err)
}

// autocommit runs a statement outside of groups.
func (p *Provider) autocommit(ctx context.Context, op string, fn func(context.Context, *pgxpool.Pool) error) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	bounded, cancel := p.bounded(ctx)
	defer cancel()
	err := fn(bounded, p.pool)
	return failed(op, err, outcomeOf(err))
}
