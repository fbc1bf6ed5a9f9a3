package postgres

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
	"github.com/perdure/perdure/provider/validations/engine"
)

var matrix = flag.Bool("matrix", false, "run the suites also through a pooler, with a tracer, on a server far away, and without optional interfaces: many minutes")

// The suites pass however the store reaches its server.
func TestMatrix(t *testing.T) {
	if !*matrix {
		t.Skip("slow: run it by `make matrix`")
	}
	cluster := postgrestest.New(t)
	near := cluster.URL()
	t.Run("pooler", func(t *testing.T) {
		pooler := cluster.Pooler(t)
		passes(t, near, func(t *testing.T, o Options) (*Provider, error) {
			o.Pooler, o.ListenURL = true, near
			return OpenWith(t.Context(), pooler, o)
		}, nil)
	})
	t.Run("tracer", func(t *testing.T) {
		traced := pool(t, near, func(c *pgxpool.Config) { c.ConnConfig.Tracer, c.MaxConns = silentTracer{}, 16 })
		passes(t, near, func(t *testing.T, o Options) (*Provider, error) { return NewWith(t.Context(), traced, o) }, nil)
	})
	t.Run("far", func(t *testing.T) {
		const away = 50 * time.Millisecond
		far := cluster.Proxy(t, away).URL()
		// A transaction is several round trips.
		passes(t, near, func(t *testing.T, o Options) (*Provider, error) {
			return OpenWith(t.Context(), far+"&pool_max_conns=6", o)
		}, []engine.Option{engine.Limit(4 * time.Minute)}, validations.Pace(4*away), validations.Limit(20*time.Minute))
	})
}

// passes runs the suites with stores in schemas of the server at url.
func passes(t *testing.T, url string, open func(t *testing.T, o Options) (*Provider, error), scenarios []engine.Option, opts ...validations.Option) {
	schemas := newEmptied(t, url)
	opts = append([]validations.Option{validations.Transactions(beginTx)}, opts...)
	store := func(t *testing.T) provider.Provider {
		return schemas.open(t, func(o Options) (*Provider, error) { return open(t, o) })
	}
	t.Run("conformance", func(t *testing.T) { validations.Run(t, store, opts...) })
	t.Run("engine", func(t *testing.T) { engine.Run(t, store, scenarios...) })
}

// bare has the core of a store and nothing else.
type bare struct{ provider.Provider }

// The suites pass with the core alone.
func TestMatrixOfTheCore(t *testing.T) {
	if !*matrix {
		t.Skip("slow: run it by `make matrix`")
	}
	schemas := newEmptied(t, postgrestest.URL(t))
	store := func(t *testing.T) provider.Provider {
		return bare{schemas.open(t, func(o Options) (*Provider, error) { return OpenWith(t.Context(), schemas.url+"&pool_max_conns=6", o) })}
	}
	t.Run("conformance", func(t *testing.T) { validations.Run(t, store) })
	t.Run("engine", func(t *testing.T) { engine.Run(t, store) })
}

// silentTracer is there, and does nothing.
type silentTracer struct{}

func (silentTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (silentTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
