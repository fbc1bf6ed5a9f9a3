package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// Policies that hide rows never make a store look empty. A store does not open under them, and one that is open returns errors.
func TestRowSecurityHidesNothing(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t)
	owner := opened(t, cluster.URL(), Options{Schema: "mine"})
	exec(t, owner, `CREATE ROLE worker LOGIN`)
	for _, grant := range Grants("mine", "worker") {
		exec(t, owner, grant)
	}
	in := create(t, owner, "in")
	url := fmt.Sprintf("postgres://worker@127.0.0.1:%d/postgres?sslmode=disable", cluster.Port())
	shared := pool(t, url, func(c *pgxpool.Config) { c.MaxConns = 8 })
	given, err := NewWith(t.Context(), shared, Options{Schema: "mine", Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, given)
	stores := map[string]*Provider{"own pool": opened(t, url, Options{Schema: "mine"}), "pool of the program": given}
	exec(t, owner, `ALTER TABLE mine.instance ENABLE ROW LEVEL SECURITY`)
	for name, p := range stores {
		if got, err := p.Get(t.Context(), provider.GetRequest{Key: in.Key}); err == nil || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%s: Get returns %+v, %v", name, got, err)
		}
		if got, err := p.List(t.Context(), provider.ListRequest{}); err == nil {
			t.Errorf("%s: List returns %d instances of 1", name, len(got.Instances))
		}
		if got, err := p.FetchTurns(t.Context(), turnsRequest()); err == nil {
			t.Errorf("%s: FetchTurns returns %d turns, and is silent about what is hidden", name, len(got.Turns))
		}
	}
	if _, err := OpenWith(t.Context(), url, Options{Schema: "mine", Logger: silent}); err == nil || !strings.Contains(err.Error(), `"mine"."instance"`) {
		t.Errorf("opened: %v", err)
	}
	exec(t, owner, `ALTER TABLE mine.instance DISABLE ROW LEVEL SECURITY`)
	for _, p := range stores {
		get(t, p, in.Key)
	}
}
