package invariant

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// A rowReader reads the rows of one kind in order, a page at a time.
type rowReader[R any] struct {
	inspector provider.Inspector
	req       provider.InspectRequest
	list      func(*provider.InspectResult) []R
	key       func(*R) provider.UUID
	fault     func(provider.RowFault)

	rows []R
	over bool
}

// peek returns the next row, nil after the last one.
func (t *rowReader[R]) peek(ctx context.Context) (*R, error) {
	for len(t.rows) == 0 && !t.over {
		res, err := t.inspector.Inspect(ctx, t.req)
		if err != nil {
			return nil, fmt.Errorf("inspecting rows: %w", err)
		}
		t.rows = t.list(&res)
		t.req.Cursor, t.over = res.Cursor, res.Cursor == ""
		for _, f := range res.Faults {
			t.fault(f)
		}
	}
	if len(t.rows) == 0 {
		return nil, nil //nolint:nilnil // the end is a valid result
	}
	return &t.rows[0], nil
}

func (t *rowReader[R]) skip() { t.rows = t.rows[1:] }

// of takes the rows of a key. Rows of lower keys that were not taken are strays.
func (t *rowReader[R]) of(ctx context.Context, key provider.UUID, stray func(provider.UUID)) (rows []R, err error) {
	for {
		r, err := t.peek(ctx)
		if err != nil || r == nil {
			return rows, err
		}
		k := t.key(r)
		switch bytes.Compare(k[:], key[:]) {
		case -1:
			stray(k)
		case 0:
			rows = append(rows, *r)
		default:
			return rows, nil
		}
		t.skip()
	}
}

// rowReaders read the rows that depend on instances, of the whole store or of one key.
type rowReaders struct {
	executions rowReader[provider.ExecutionRow]
	history    rowReader[provider.HistoryRow]
	messages   rowReader[provider.MessageRow]
	tasks      rowReader[provider.TaskRow]
	leases     rowReader[provider.TurnLeaseRow]
	keys       []rowReader[provider.UUID]
	stray      func(provider.UUID) // keys whose rows were not taken
}

// spans takes the events of one execution of a key. Executions must be taken in order.
func (t *rowReaders) spans(ctx context.Context, key provider.UUID, execution int64) (rows []provider.HistoryRow, err error) {
	for {
		r, err := t.history.peek(ctx)
		if err != nil || r == nil {
			return rows, err
		}
		order := bytes.Compare(r.Key[:], key[:])
		switch {
		case order < 0:
			t.stray(r.Key)
		case order > 0 || r.Execution > execution:
			return rows, nil
		case r.Execution == execution:
			rows = append(rows, *r)
		}
		t.history.skip()
	}
}

// pass takes all other rows of a key, which matter only if the key is gone.
func (t *rowReaders) pass(ctx context.Context, key provider.UUID) error {
	if _, err := t.history.of(ctx, key, t.stray); err != nil {
		return err
	}
	for i := range t.keys {
		if _, err := t.keys[i].of(ctx, key, t.stray); err != nil {
			return err
		}
	}
	return nil
}

// lastKey stands behind all others.
var lastKey = provider.UUID{ //nolint:gochecknoglobals // constant
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
}

// finish makes strays of all rows that are left.
func (t *rowReaders) finish(ctx context.Context) error {
	if _, err := t.dependentRows(ctx, lastKey); err != nil {
		return err
	}
	return t.pass(ctx, lastKey)
}

// dependentRows are the rows of an instance other than its histories.
type dependentRows struct {
	executions []provider.ExecutionRow
	messages   []provider.MessageRow
	tasks      []provider.TaskRow
	leases     []provider.TurnLeaseRow
}

func (t *rowReaders) dependentRows(ctx context.Context, key provider.UUID) (h dependentRows, err error) {
	if h.executions, err = t.executions.of(ctx, key, t.stray); err != nil {
		return h, err
	}
	if h.messages, err = t.messages.of(ctx, key, t.stray); err != nil {
		return h, err
	}
	if h.tasks, err = t.tasks.of(ctx, key, t.stray); err != nil {
		return h, err
	}
	h.leases, err = t.leases.of(ctx, key, t.stray)
	return h, err
}

func newRowReader[R any](
	c *checker, kind provider.InspectKind, key provider.UUID, fault func(provider.RowFault),
	list func(*provider.InspectResult) []R, keyOf func(*R) provider.UUID,
) rowReader[R] {
	return rowReader[R]{
		inspector: c.inspector, req: provider.InspectRequest{Kind: kind, Key: key}, list: list, key: keyOf, fault: fault,
	}
}

// newRowReaders opens the readers of a key, or of all if it is zero.
func (c *checker) newRowReaders(key provider.UUID, fault func(provider.RowFault), stray func(provider.UUID)) *rowReaders {
	t := &rowReaders{
		executions: newRowReader(c, provider.InspectExecutions, key, fault,
			func(r *provider.InspectResult) []provider.ExecutionRow { return r.Executions },
			func(r *provider.ExecutionRow) provider.UUID { return r.Key }),
		history: newRowReader(c, provider.InspectHistory, key, fault,
			func(r *provider.InspectResult) []provider.HistoryRow { return r.History },
			func(r *provider.HistoryRow) provider.UUID { return r.Key }),
		messages: newRowReader(c, provider.InspectMessages, key, fault,
			func(r *provider.InspectResult) []provider.MessageRow { return r.Messages },
			func(r *provider.MessageRow) provider.UUID { return r.Key }),
		tasks: newRowReader(c, provider.InspectTasks, key, fault,
			func(r *provider.InspectResult) []provider.TaskRow { return r.Tasks },
			func(r *provider.TaskRow) provider.UUID { return r.Key }),
		leases: newRowReader(c, provider.InspectTurnLeases, key, fault,
			func(r *provider.InspectResult) []provider.TurnLeaseRow { return r.TurnLeases },
			func(r *provider.TurnLeaseRow) provider.UUID { return r.Key }),
		stray: stray,
	}
	for _, kind := range keyKinds {
		t.keys = append(t.keys, newRowReader(c, kind, key, fault,
			func(r *provider.InspectResult) []provider.UUID { return r.Keys },
			func(r *provider.UUID) provider.UUID { return *r }))
	}
	return t
}

// keyKinds hang on an instance. A question does not: it lives as long as the call that asks.
//
//nolint:gochecknoglobals // constant table
var keyKinds = []provider.InspectKind{
	provider.InspectValues, provider.InspectAttributes, provider.InspectOutcomes, provider.InspectDeadLetters,
}

// instance reads the row of an instance; nil if there is none. A row that cannot be read is a fault.
func (c *checker) instance(ctx context.Context, key provider.UUID) (*provider.Instance, *provider.RowFault, error) {
	if c.inspector == nil {
		res, err := c.store.Get(ctx, provider.GetRequest{Key: key})
		if errors.Is(err, provider.ErrNotFound) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("getting instance %s: %w", key, err)
		}
		return &res.Instance, nil, nil
	}
	res, err := c.inspector.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectInstances, Key: key})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("inspecting instance %s: %w", key, err)
	case len(res.Faults) > 0:
		return nil, &res.Faults[0], nil
	case len(res.Instances) > 0:
		return &res.Instances[0], nil, nil
	}
	return nil, nil, nil
}
