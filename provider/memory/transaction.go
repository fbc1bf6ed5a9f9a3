package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Tx is a transaction of the program. Tests use it for code that starts instances and raises events in one. It is safe for
// concurrent use.
type Tx struct {
	store *store
	inner bool // part of one of the store's own transactions, which decides

	// Guarded by store.mu.
	steps []step
	over  bool
}

// A step changes the store under its lock and returns how to undo the change.
type step func(now provider.Time) (undo func(), err error)

// errTxOver means that the transaction was committed or rolled back before.
var errTxOver = errors.New("the transaction is over: begin another one")

// Begin begins a transaction.
func (p *Provider) Begin() *Tx { return &Tx{store: p.store} }

// InTx makes tx an option of client.Start and Raise. Their writes are stored if and only if tx commits.
func InTx(tx *Tx) provider.Tx { return provider.Tx{Of: tx} }

// OnComplete adds a function to the transaction that completes the activity to which the context belongs.
func OnComplete(ctx context.Context, fn func(tx *Tx) error) error {
	if fn == nil {
		return fmt.Errorf("memory.OnComplete: %w: the function is nil: give one", provider.ErrInvalid)
	}
	err := provider.OnComplete(ctx, func(tx provider.Tx) error {
		own, ok := tx.Of.(*Tx)
		if !ok {
			return fmt.Errorf("memory.OnComplete inside %T: %w", tx.Of, provider.ErrForeignTx)
		}
		return fn(own)
	})
	if err != nil {
		return fmt.Errorf("memory.OnComplete: %w", err)
	}
	return nil
}

// Commit stores everything that was requested in the transaction, or nothing. The error says what has become impossible meanwhile.
func (t *Tx) Commit() error {
	return t.end(func(now provider.Time) error {
		if t.inner {
			return nil
		}
		_, err := apply(t.steps, now)
		return err
	})
}

// Rollback discards the transaction.
func (t *Tx) Rollback() error {
	return t.end(func(provider.Time) error {
		t.steps = nil
		return nil
	})
}

func (t *Tx) end(run func(now provider.Time) error) error {
	t.store.mu.Lock()
	defer t.store.unlock()
	switch {
	case t.over:
		return errTxOver
	case t.store.closed:
		return provider.ErrClosed
	}
	t.over = true
	return run(t.store.now())
}

// apply does all steps, or none and returns an error.
func apply(steps []step, now provider.Time) (undo func(), err error) {
	var undos []func()
	undo = func() {
		for _, one := range slices.Backward(undos) {
			one()
		}
	}
	for _, s := range steps {
		one, err := s(now)
		if err != nil {
			undo()
			return nil, err
		}
		undos = append(undos, one)
	}
	return undo, nil
}

// callerTransactions runs calls inside transactions of the program.
type callerTransactions struct {
	*store

	instances *instances
	inboxes   *inboxes
	tasks     *tasks
	turns     *turns
}

// try adds a step to the transaction if it could be committed now. It does and undoes all steps under the lock.
func (g *callerTransactions) try(ctx context.Context, tx provider.Tx, req request, s step) error {
	t, ok := tx.Of.(*Tx)
	if !ok || t == nil || t.store != g.store {
		return fmt.Errorf("%w: it is a %T", provider.ErrForeignTx, tx.Of)
	}
	return g.do(ctx, req, func(now provider.Time) error {
		if t.over {
			return errTxOver
		}
		commits, dirty := g.counts.Commits, g.dirty
		undo, err := apply(append(slices.Clip(t.steps), s), now)
		if err == nil {
			undo()
			t.steps = append(t.steps, s)
		}
		g.counts.Commits, g.dirty = commits, dirty
		return err
	})
}

// CreateIn implements provider.Transactor. It ignores a first turn, whose effects on other instances could not be undone.
func (g *callerTransactions) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (res provider.CreateResult, err error) {
	start := req
	start.Message.Payload, start.Attributes, start.First = slices.Clone(req.Message.Payload), slices.Clone(req.Attributes), nil
	if req.Listener != nil {
		listener := *req.Listener
		listener.Message.Payload = slices.Clone(listener.Message.Payload)
		start.Listener = &listener
	}
	start.Messages = slices.Clone(req.Messages)
	for n := range start.Messages {
		start.Messages[n].Payload = slices.Clone(req.Messages[n].Payload)
	}
	err = g.try(ctx, tx, req, func(now provider.Time) (func(), error) {
		before := g.instances.current[start.ID]
		restore := func() {}
		if before != nil {
			restore = before.keepInbox()
		}
		i, created, err := g.turns.create(start, now)
		if err != nil {
			return nil, err
		}
		res = provider.CreateResult{Instance: i.view(), Created: created, Now: now}
		if i == before {
			return restore, nil
		}
		return func() { g.instances.uncreate(i, before) }, nil
	})
	return res, err
}

// SendIn implements provider.Transactor. The message gets another ID when tx commits.
func (g *callerTransactions) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (res provider.SendResult, err error) {
	req.Message.Payload = slices.Clone(req.Message.Payload)
	err = g.try(ctx, tx, req, func(now provider.Time) (func(), error) {
		i, err := g.instances.receiver(req.ID, req.Key)
		if err != nil {
			return nil, err
		}
		level := i.row.EngineLevel
		_, id, err := g.turns.send(req, now)
		if err != nil {
			return nil, err
		}
		res = provider.SendResult{Key: i.row.Key, MessageID: id, Now: now}
		return func() {
			g.inboxes.remove(i, func(m provider.Message) bool { return m.ID == id })
			i.row.EngineLevel = level
		}, nil
	})
	return res, err
}

// CompleteIn implements provider.Transactor.
func (g *callerTransactions) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{item}}
	if err := req.Validate(); err != nil {
		return res, err
	}
	tx := &Tx{store: g.store, inner: true}
	if err := fn(InTx(tx)); err != nil {
		return res, &provider.FuncError{Err: err}
	}
	err = g.do(ctx, req, func(now provider.Time) error {
		tx.over = true
		state, t := g.tasks.state(item.TaskRef), g.tasks.byRef[item.TaskRef]
		if state.Kind == provider.ExecutionRunning && t != nil && t.token == item.Token && t.attempt == item.Attempt {
			if _, err := apply(tx.steps, now); err != nil {
				return &provider.FuncError{Err: err}
			}
		}
		res = provider.TaskReportResult{Err: g.tasks.report(&item, state, now), State: state}
		return nil
	})
	return res, err
}
