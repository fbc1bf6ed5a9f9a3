package postgres

import (
	"context"
	"errors"
	"hash/crc32"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

// Most cases share a pool, because connecting costs more than they do. One in eight, always the same ones, has a pool
// that the store opens.
func TestConformance(t *testing.T) {
	schemas := newEmptied(t, postgrestest.URL(t))
	shared := pool(t, schemas.url, func(c *pgxpool.Config) { c.MaxConns = 16 })
	another := func(pooler bool) func(*testing.T, provider.Provider) provider.Provider {
		return func(t *testing.T, first provider.Provider) provider.Provider {
			t.Helper()
			own, _ := provider.As[*Provider](first)
			return anotherHandle(t, shared, Options{Schema: own.db.opts.Schema, Pooler: pooler})
		}
	}
	// The last one gets no notices.
	opts := []validations.Option{validations.Transactions(beginTx), validations.Handles(another(false), another(true))}
	if testing.Short() { // the memory store runs all cases; here each connection costs 40 ms of CPU time
		opts = append(opts, validations.Part(1, 24))
	}
	if racedetector.On {
		for _, name := range []string{
			"send/inbox-full", "send/inbox-full-of-bytes", "clean/prune-default", "create/messages-to-a-full-inbox", "create/messages-remembered",
			"deliver/reply-of-a-full-inbox", "opener/prefix-messages-in-a-full-inbox", "limits/rows-of-a-commit",
		} {
			opts = append(opts, validations.Skip(name, "make test-long runs it without the race detector, and that of the memory store with it"))
		}
	}
	validations.Run(t, func(t *testing.T) provider.Provider {
		return schemas.open(t, func(o Options) (*Provider, error) {
			if racedetector.On { // a commit of 14 MiB takes seconds with it
				o.Timeout = time.Minute
			}
			if crc32.ChecksumIEEE([]byte(t.Name()))%8 == 0 {
				return OpenWith(t.Context(), schemas.url+"&pool_max_conns=6", o)
			}
			return NewWith(t.Context(), shared, o)
		})
	}, opts...)
}

// anotherHandle opens one more handle of a store.
func anotherHandle(t testing.TB, pool *pgxpool.Pool, o Options) *Provider {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler) // a pooler without notices warns
	p, err := NewWith(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// beginTx begins a transaction of a program with its own tables in the database.
func beginTx(ctx context.Context, p provider.Provider) (validations.Transaction, error) {
	own, _ := provider.As[*Provider](p)
	conn, err := pgx.ConnectConfig(ctx, own.db.pool.Config().ConnConfig)
	if err != nil {
		return validations.Transaction{}, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return validations.Transaction{}, errors.Join(err, conn.Close(ctx))
	}
	return validations.Transaction{
		Tx: InTx(tx), Commit: func() error { return tx.Commit(ctx) },
		Rollback: func() error { return errors.Join(tx.Rollback(ctx), conn.Close(ctx)) },
	}, nil
}

// emptied lends schemas with empty tables, because emptying them costs less than creating them.
type emptied struct {
	t     *testing.T // of all cases
	url   string
	broom *pgxpool.Pool // a connection for each schema would cost more than most cases
	mu    sync.Mutex
	free  []string
}

func newEmptied(t *testing.T, url string) *emptied {
	t.Helper()
	return &emptied{t: t, url: url, broom: pool(t, url, func(c *pgxpool.Config) {
		c.MaxConns = 2
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // a statement for each schema would be prepared
	})}
}

// open opens a store in a schema that is released at the end of the test.
func (e *emptied) open(t *testing.T, open func(Options) (*Provider, error)) *Provider {
	schema := e.take()
	p, err := open(Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		e.giveBack(t, schema)
	})
	return p
}

func (e *emptied) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.free) == 0 {
		return postgrestest.Schema(e.t, e.url)
	}
	last := len(e.free) - 1
	schema := e.free[last]
	e.free = e.free[:last]
	return schema
}

func (e *emptied) giveBack(t testing.TB, schema string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	names, b := newNames(schema), &pgx.Batch{}
	for _, table := range []string{
		"kind", "task_kind", "instance", "outcome", "execution", "history", "inbox", "task", "session", "ask", "dead_letter", "lease", "record", "attribute", "value",
		"request", "listener",
	} {
		b.Queue(names.sql(`DELETE FROM perdure.` + table))
	}
	if err := e.broom.SendBatch(ctx, b).Close(); err != nil {
		t.Error(err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = append(e.free, schema)
}
