package postgres

import (
	"context"
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

// A server that is connected may be too slow for the timeout.
func TestAdviceOnATimeout(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://app:secret@127.0.0.1:5/app")
	if err != nil {
		t.Fatal(err)
	}
	slow := notOpened(config, failed("load kinds", context.DeadlineExceeded, provider.OutcomeNothing))
	const want = "open postgres://app@127.0.0.1:5/app: context deadline exceeded; " +
		"check host, port and sslmode, that the server runs, and that the timeout leaves it time to answer"
	if slow.Error() != want || !provider.Retryable(slow) {
		t.Errorf("%v, retryable %t", slow, provider.Retryable(slow))
	}
}
