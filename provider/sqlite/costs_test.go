package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/costs"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// counting is the writer's connection with a count of its statements.
type counting struct {
	driver.Conn
	n *atomic.Int64
}

func (c counting) Prepare(sql string) (driver.Stmt, error) {
	raw, err := c.Conn.Prepare(sql)
	return countedStatement{raw, c.n}, err
}

type countedStatement struct {
	driver.Stmt
	n *atomic.Int64
}

func (s countedStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.n.Add(1)
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s countedStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.n.Add(1)
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// count starts counting the statements of the writer.
func count(t *testing.T, p *Provider) *atomic.Int64 {
	t.Helper()
	n, done := new(atomic.Int64), make(chan struct{})
	p.store.writer.submit("count", func(*tx) error {
		c := p.store.writer.conn
		for _, s := range c.stmts {
			_ = s.raw.Close() // it repeats the statement's own error
		}
		clear(c.stmts)
		c.raw = counting{c.raw, n}
		close(done)
		return nil
	})
	<-done
	return n
}

// What calls allocate on both SQL stores is compared with what is stored: a change that costs a little is seen, too. A node waits, as in
// production: while nobody waits, the next due moments may be unknown, and then each fetch looks for expired leases.
func TestHazard101_CostsOfCalls(t *testing.T) {
	longtest.Skip(t)
	costs.Check(t, "sqlite-calls", costs.Calls(t, func() provider.Provider {
		p := openTest(t, filepath.Join(t.TempDir(), "costs.db"), Options{})
		if err := fetchAsNodesDo(t, p)(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		return p
	}))
}

// These are the writer's statements for each call, including BEGIN and COMMIT.
func TestCostsOfStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "costs.db")
	p := openTest(t, path, Options{})
	for i := range logAfter {
		create(t, p, fmt.Sprint("before-", i), "nobody")
	}
	await(t, "the room of the log, which takes statements, too", func() bool { return sizeOf(t, path+"-wal") >= logRoom })
	n := count(t, p)
	fetch := fetchAsNodesDo(t, p)
	var figures []costs.Figure
	number := 0
	// The janitor may run in between, so the lowest of several counts.
	least := func(what string, prepare func(id string) (call func() error)) {
		fewest := int64(1 << 30)
		for range 5 {
			number++
			call := prepare(fmt.Sprint("cost-", number))
			before := n.Load()
			if err := call(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			fewest = min(fewest, n.Load()-before)
		}
		figures = append(figures, costs.Figure{Name: "statements of " + what, Value: float64(fewest)})
	}
	least("a create", func(id string) func() error {
		return func() error { create(t, p, id, "nobody"); return nil }
	})
	least("a create with its first turn", func(id string) func() error {
		return func() error { startBegun(t, p, id); return nil }
	})
	least("a hand-off step", func(id string) func() error {
		c := startChain(t, p, id)
		return func() error { return c.step(t) }
	})
	least("a send", func(id string) func() error {
		in := create(t, p, id, "nobody")
		return func() error {
			_, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: provider.NewMessage{Payload: payload}})
			return err
		}
	})
	least("a fetch of one turn", func(id string) func() error {
		create(t, p, id, id)
		return func() error {
			res, err := p.FetchTurns(t.Context(), fetchOf(id, newToken(), time.Minute))
			if err == nil && len(res.Turns) != 1 {
				err = fmt.Errorf("%d turns", len(res.Turns))
			}
			return err
		}
	})
	least("a fetch of tasks in vain", func(string) func() error { return func() error { return fetch(t.Context(), 0) } })
	costs.Check(t, "sqlite", figures)
}

// fetchAsNodesDo returns a fetch that finds no tasks and claims sessions in a store that has none. One such fetch waits until
// the test ends.
func fetchAsNodesDo(t *testing.T, p *Provider) (fetch func(context.Context, time.Duration) error) {
	t.Helper()
	fetch = func(ctx context.Context, wait time.Duration) error {
		_, err := p.FetchTasks(ctx, provider.FetchTasksRequest{
			Owner: "cost", Token: newToken(), Lease: time.Minute, Max: 10, Wait: wait, Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"none"}}},
			Sessions: provider.SessionClaim{Max: 10, Lease: time.Minute, Idle: time.Minute},
		})
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = fetch(ctx, time.Hour) // it ends with the test
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return fetch
}
