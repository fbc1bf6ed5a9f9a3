package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/model"
)

func TestModel(t *testing.T) {
	count := 12
	if racedetector.On {
		count = 5 // make test-long plays the others without the race detector
	}
	url := postgrestest.URL(t)
	schemas := newEmptied(t, url)
	model.Run(t, func(t testing.TB) provider.Provider {
		schema := schemas.take()
		p, err := OpenWith(t.Context(), url+"&pool_max_conns=6", Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			schemas.giveBack(t, schema)
		})
		return p
	}, model.Count(count))
}

// Two more handles of the store know other things than the first. One of them gets no notices, as behind a pooler.
func TestModelThroughHandles(t *testing.T) {
	count := 8
	if racedetector.On {
		count = 3 // make test plays the others without the race detector
	}
	schemas := newEmptied(t, postgrestest.URL(t))
	shared := pool(t, schemas.url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	another := func(pooler bool) func(testing.TB, provider.Provider) provider.Provider {
		return func(t testing.TB, first provider.Provider) provider.Provider {
			t.Helper()
			own, _ := provider.As[*Provider](first)
			return anotherHandle(t, shared, Options{Schema: own.db.opts.Schema, Pooler: pooler})
		}
	}
	model.Run(t, func(t testing.TB) provider.Provider {
		schema := schemas.take()
		t.Cleanup(func() { schemas.giveBack(t, schema) })
		return anotherHandle(t, shared, Options{Schema: schema})
	}, model.Count(count), model.Handles(another(false), another(true)))
}
