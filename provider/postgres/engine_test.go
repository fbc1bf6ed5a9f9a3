package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/engine"
)

// Stores are opened on shared pools, because connecting costs more than most scenarios. The second of two nodes has
// connections of its own.
func TestEngine(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("make test-long runs it without the race detector, and that of the memory store with it")
	}
	schemas := newEmptied(t, postgrestest.URL(t))
	here := pool(t, schemas.url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	there := pool(t, schemas.url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	engine.Run(t, func(t *testing.T) provider.Provider {
		return schemas.open(t, func(o Options) (*Provider, error) { return NewWith(t.Context(), here, o) })
	}, engine.Peer(func(t *testing.T, first provider.Provider) provider.Provider {
		p, err := NewWith(t.Context(), there, Options{Schema: first.(*Provider).db.opts.Schema})
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(t, p)
		return p
	}))
}
