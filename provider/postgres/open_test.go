package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// Opening refuses a pool in which the groups of a store would always fail. In all other pools they work.
func TestExecModes(t *testing.T) {
	longtest.Skip(t)
	for mode, want := range map[pgx.QueryExecMode]error{
		pgx.QueryExecModeCacheStatement: nil, pgx.QueryExecModeCacheDescribe: nil, pgx.QueryExecModeDescribeExec: nil,
		pgx.QueryExecModeExec: provider.ErrInvalid, pgx.QueryExecModeSimpleProtocol: provider.ErrInvalid,
	} {
		url := postgrestest.URL(t)
		made := pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
		p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), Logger: silent})
		if !errors.Is(err, want) {
			t.Errorf("%v: %v", mode, err)
		}
		if err != nil {
			continue
		}
		closeAtEnd(t, p)
		a, b := create(t, p, "a"), create(t, p, "b")
		for range 2 { // the second time with cached instances
			wantErrors(t, grouped(p, memberSend(a.Key, text("m")), memberSend(b.Key, text("m"))), nil, nil)
		}
	}
}
