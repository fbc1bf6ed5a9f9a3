package invariant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Store is read by Check. It is a provider.Provider or a view of a store. Most rules need a provider.Inspector behind
// it.
type Store interface {
	Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error)
	List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error)
	ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error)
}

// Options add conditions to a check.
type Options struct {
	// Idle: no process works on the store. Then no lease may be held.
	Idle bool
	// Expect returns what is wrong with the outcome of an instance, nil for nothing. The outcome of one that has not
	// ended is empty.
	Expect func(provider.Instance, history.Outcome) error
	// Patience is how long the storage may take to end the leases of a dead owner; 0 means 2 s.
	Patience time.Duration
	// Progress is called after each instance, with how many were looked at; nil: nobody wants to know.
	Progress func(instances int64)
}

const defaultPatience = 2 * time.Second

// Check looks at the whole store. Its error means that the store could not be read to the end.
func Check(ctx context.Context, store Store, o Options) (Report, error) {
	c := &checker{store: store, options: o, faulty: make(map[provider.UUID]bool), orphaned: make(map[provider.UUID]bool)}
	if o.Patience == 0 {
		c.options.Patience = defaultPatience
	}
	if p, ok := store.(provider.Provider); ok {
		c.inspector, _ = provider.As[provider.Inspector](p)
	} else {
		c.inspector, _ = store.(provider.Inspector)
	}
	if c.inspector == nil {
		c.report.skip(fmt.Sprintf("%s, %s, %s, %s and %s: the provider does not show its rows (provider.Inspector)",
			Stuck, Leftover, Orphan, DeadLease, ReadyTime))
		return c.report, c.listed(ctx)
	}
	err := c.inspected(ctx)
	if err == nil {
		err = c.lateLeases(ctx)
	}
	if err == nil && o.Idle {
		err = c.questions(ctx)
	}
	return c.report, err
}

// A checker is one Check.
type checker struct {
	store     Store
	inspector provider.Inspector // nil: there is none
	options   Options
	report    Report
	strays    []provider.UUID // keys whose rows had no instance
	faults    []provider.RowFault
	late      []provider.UUID // keys of instances with leases to be looked at again
	faulty    map[provider.UUID]bool
	orphaned  map[provider.UUID]bool
}

// inspected is a check of all rows. It reads the instances in order of their keys, and all other rows in step with
// them.
func (c *checker) inspected(ctx context.Context) error {
	fault := func(f provider.RowFault) { c.faults = append(c.faults, f) }
	rows := c.newRowReaders(provider.UUID{}, fault, func(key provider.UUID) {
		if n := len(c.strays); n == 0 || c.strays[n-1] != key {
			c.strays = append(c.strays, key)
		}
	})
	instances := newRowReader(c, provider.InspectInstances, provider.UUID{}, fault,
		func(r *provider.InspectResult) []provider.Instance { return r.Instances },
		func(r *provider.Instance) provider.UUID { return r.Key })
	for {
		in, err := instances.peek(ctx)
		if err != nil {
			return err
		}
		if in == nil {
			break
		}
		found, err := c.firstCheck(ctx, *in, rows)
		if err == nil {
			err = c.suspects(ctx)
		}
		if err == nil {
			err = c.confirm(ctx, in.Key, found)
		}
		if err != nil {
			return err
		}
		instances.skip()
	}
	if err := rows.finish(ctx); err != nil {
		return err
	}
	return c.suspects(ctx)
}

// listed is a check of the instances that List and ReadHistory show.
func (c *checker) listed(ctx context.Context) error {
	req := provider.ListRequest{Filter: provider.Filter{Replaced: true}, Max: 100}
	for {
		page, err := c.store.List(ctx, req)
		if errors.Is(err, errors.ErrUnsupported) {
			c.report.skip("instances: the provider does not list them (provider.Lister)")
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing instances: %w", err)
		}
		for i := range page.Instances {
			found, err := c.firstCheck(ctx, page.Instances[i], nil)
			if err == nil {
				err = c.confirm(ctx, page.Instances[i].Key, found)
			}
			if err != nil {
				return err
			}
		}
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return nil
		}
	}
}

// firstCheck looks at an instance for the first time, and counts.
func (c *checker) firstCheck(ctx context.Context, in provider.Instance, rows *rowReaders) ([]Finding, error) {
	l := instanceCheck{c: c, in: in}
	err := l.examine(ctx, rows)
	c.report.Instances++
	c.report.Executions += in.Execution
	c.report.Events += l.events
	if c.options.Progress != nil {
		c.options.Progress(c.report.Instances)
	}
	return l.found, err
}

// tries is how often an instance is looked at before it counts as never standing still.
const tries = 5
