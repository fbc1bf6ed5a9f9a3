package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// A program may hold all connections of the pool that it shares with the store, each with a transaction that starts an
// instance.
func TestTransactionsMayHoldTheWholePool(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, size := range longtest.Pick([]int32{4}, []int32{4, 8}) {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			cluster := postgrestest.New(t)
			shared := pool(t, cluster.URL(), func(c *pgxpool.Config) { c.MaxConns = size })
			p, err := NewWith(t.Context(), shared, Options{Logger: silent})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, p)
			startsOnAll(t, p, "first starts", func(int) string { return "orc" })
			startsOnAll(t, p, "later starts", func(int) string { return "orc" })
			startsOnAll(t, p, "later starts, a new name", func(int) string { return "new" })
			startsOnAll(t, p, "later starts, a new name each", func(i int) string { return fmt.Sprint("new ", i) })
			cluster.Stop(t, syscall.SIGINT)
			cluster.Start(t)
			shared.Reset() // the program's own connections were closed
			startsOnAll(t, p, "after a restart", func(int) string { return "orc" })
			cluster.Stop(t, syscall.SIGINT)
			cluster.Start(t)
			shared.Reset()
			startsOnAll(t, p, "after a restart, a new name each", func(i int) string { return fmt.Sprint("newer ", i) })
		})
	}
}

// startsOnAll begins as many transactions as the pool has connections, and only then starts an instance in each.
func startsOnAll(t *testing.T, p *Provider, what string, name func(i int) string) {
	t.Helper()
	txs := make([]pgx.Tx, p.db.pool.Config().MaxConns)
	var calls sync.WaitGroup
	for i := range txs {
		calls.Go(func() {
			tx, err := p.db.pool.Begin(t.Context())
			if err != nil {
				t.Errorf("%s: begin: %v", what, err)
			}
			txs[i] = tx
		})
	}
	calls.Wait()
	if t.Failed() {
		t.FailNow()
	}
	// A start with MaxBacklog and Refuse requests it. Each connection that the server closed costs one try.
	_, err := p.Stats(t.Context(), provider.StatsRequest{Waiting: true})
	for range 10 {
		if err == nil || !provider.Retryable(err) {
			break
		}
		_, err = p.Stats(t.Context(), provider.StatsRequest{Waiting: true})
	}
	if err != nil {
		t.Errorf("%s: stats: %v", what, err)
	}
	keys := make([]provider.UUID, len(txs))
	for i, tx := range txs {
		calls.Go(func() {
			req := createRequest(unique().String())
			req.Name, keys[i] = name(i), req.Key
			_, err := p.CreateIn(t.Context(), InTx(tx), req)
			if err == nil {
				_, err = p.SendIn(t.Context(), InTx(tx), provider.SendRequest{Key: req.Key, Message: text("m")})
			}
			if err != nil {
				t.Errorf("%s: start %d of %d: %v", what, i, len(txs), err)
			}
		})
	}
	calls.Wait() // each connection stays in use until all have started
	for _, tx := range txs {
		if err := tx.Commit(withoutCancel(t)); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: commit: %v", what, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	for i, key := range keys {
		if in := get(t, p, key); in.Name != name(i) || in.InboxMessages != 2 {
			t.Errorf("%s: instance %d: name %q, %d messages", what, i, in.Name, in.InboxMessages)
		}
	}
}

// Opening logs a warning if a pool leaves no connection for the program, or for calls other than commits.
func TestSmallPoolsAreLogged(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	for _, c := range []struct {
		conns  int32
		own    bool
		logged bool
	}{{3, true, true}, {4, true, false}, {4, false, true}, {8, false, false}} {
		var log bytes.Buffer
		o := Options{Schema: schema, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		var p *Provider
		var err error
		if c.own {
			p, err = OpenWith(t.Context(), fmt.Sprintf("%s&pool_max_conns=%d", url, c.conns), o)
		} else {
			p, err = NewWith(t.Context(), pool(t, url, func(config *pgxpool.Config) { config.MaxConns = c.conns }), o)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if logged := strings.Contains(log.String(), "pool_max_conns"); logged != c.logged {
			t.Errorf("a pool of %d, own %t: logged %t, want %t:\n%s", c.conns, c.own, logged, c.logged, &log)
		}
	}
}
