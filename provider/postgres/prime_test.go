package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// primedStore opens a store in a new schema, as a program does.
func primedStore(t *testing.T) *Provider {
	t.Helper()
	url := postgrestest.URL(t)
	return openedWith(t, url, Options{Schema: postgrestest.Schema(t, url)})
}

// The first call after opening need not wait for a connection or for plans. Priming writes nothing.
func TestConnectionsAreOpenedPlanned(t *testing.T) {
	longtest.Skip(t)
	p := primedStore(t)
	conns := p.db.pool.AcquireAllIdle(t.Context())
	if len(conns) < primed {
		t.Errorf("%d connections are open, want %d", len(conns), primed)
	}
	for _, conn := range conns {
		const planned = `SELECT count(*) FROM pg_prepared_statements WHERE generic_plans > 0 AND statement LIKE '%' || $1 || '%'`
		var n int
		if err := conn.QueryRow(t.Context(), planned, p.db.opts.Schema).Scan(&n); err != nil {
			t.Error(err)
		}
		if want := 2*len(hotInserts) + len(hotChanges) + len(hotReads) + len(hotSteps); n < want {
			t.Errorf("%d statements are planned, want at least %d", n, want)
		}
		conn.Release()
	}
	for _, table := range []string{"instance", "history", "task", "inbox", "outcome"} {
		if n := number(t, p, `SELECT count(*) FROM perdure.`+table); n != 0 {
			t.Errorf("%d rows are in %s", n, table)
		}
	}
}

// A connection that is made later is primed, too.
func TestLaterConnectionsArePlanned(t *testing.T) {
	longtest.Skip(t)
	p := primedStore(t)
	p.db.pool.Reset()
	before := p.db.pool.Stat().NewConnsCount()
	conn, err := p.db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if p.db.pool.Stat().NewConnsCount() == before {
		t.Fatal("no connection was made")
	}
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_prepared_statements`).Scan(&n); err != nil || n < 2*len(hotInserts) {
		t.Errorf("%d statements are known, %v", n, err)
	}
}

// The first call of a kind stores that in the round trip before its own.
func TestRoundTripsOfNewKinds(t *testing.T) {
	longtest.Skip(t)
	p, w := counting(t)
	observer := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	w.costs(t, "create with a first turn of new kinds", 2, func() {
		req := createRequest(unique().String())
		req.Name, req.First = req.ID, firstTurn(&req)
		req.First.Tasks[0].Name = req.ID
		if _, err := p.Create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	})
	w.costs(t, "create of a new kind", 2, func() {
		req := createRequest(unique().String())
		req.Name = req.ID
		if _, err := p.Create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if in := get(t, observer, req.Key); in.Name != req.ID {
			t.Errorf("its kind is %q", in.Name)
		}
	})
}
