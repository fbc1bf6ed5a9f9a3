package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// A pool in which the groups of a store would fail for ever opens none; in all others they do not.
func TestExecModes(t *testing.T) {
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
		for range 2 { // the second time by what is known of them
			wantErrors(t, grouped(p, memberSend(a.Key, text("m")), memberSend(b.Key, text("m"))), nil, nil)
		}
	}
}
