package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
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

// Where connections belong to the program, or to a pooler, no session has the settings of the store. There each call has them, also
// one of a single statement: it must not tell that the rows which it was about to change do not exist.
func TestRowSecurityHidesNothingOnConnectionsOfOthers(t *testing.T) {
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	owner := opened(t, url, Options{Schema: schema})
	role := schema + "_worker"
	postgrestest.Exec(t, url, `CREATE ROLE `+role)
	t.Cleanup(func() { postgrestest.Exec(t, url, `DROP OWNED BY `+role, `DROP ROLE `+role) })
	postgrestest.Exec(t, url, Grants(schema, role)...)
	stores := map[string]*Provider{
		"pool of the program": asRole(t, url, role, Options{Schema: schema}),
		"pooler":              asRole(t, url, role, Options{Schema: schema, Pooler: true}),
	}
	for _, table := range []string{"instance", "record", "lease", "dead_letter", "ask", "process"} {
		exec(t, owner, `ALTER TABLE perdure.`+table+` ENABLE ROW LEVEL SECURITY`)
	}
	for name, p := range stores {
		for call, do := range hiddenCalls(t.Context(), p) {
			if err := do(); err == nil || !strings.Contains(err.Error(), "row-level security") {
				t.Errorf("%s: %s returns %v, and is silent about what is hidden", name, call, err)
			}
		}
	}
}

// asRole opens a store through a pool of the program, whose connections act as a role.
func asRole(t *testing.T, url, role string, o Options) *Provider {
	t.Helper()
	o.Logger = silent
	made := pool(t, url, func(c *pgxpool.Config) {
		c.MaxConns = 4
		if o.Pooler {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `SET ROLE `+role)
			return err
		}
	})
	p, err := NewWith(t.Context(), made, o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p
}

// hiddenCalls are calls that read or change rows by which they find out that there is nothing to do.
func hiddenCalls(ctx context.Context, p *Provider) map[string]func() error {
	record := func(action provider.RecordAction) func() error {
		return func() error {
			_, err := p.Record(ctx, provider.RecordRequest{Action: action, Namespace: "n", Key: "k", Expect: 1})
			return err
		}
	}
	return map[string]func() error{
		"Get": func() error {
			_, err := p.Get(ctx, provider.GetRequest{ID: "in"})
			return err
		},
		"List": func() error {
			_, err := p.List(ctx, provider.ListRequest{})
			return err
		},
		"FetchTurns": func() error {
			_, err := p.FetchTurns(ctx, turnsRequest())
			return err
		},
		"RecordPut":    record(provider.RecordPut),
		"RecordDelete": record(provider.RecordDelete),
		"LeaseRelease": func() error {
			_, err := p.Lease(ctx, provider.LeaseRequest{Action: provider.LeaseRelease, Name: "l", Token: unique()})
			return err
		},
		"DeadLettersDrop": func() error {
			_, err := p.DeadLetters(ctx, provider.DeadLettersRequest{Action: provider.DeadLettersDiscard, IDs: []int64{1}})
			return err
		},
		"Answer": func() error { return p.Answer(ctx, provider.AnswerRequest{AskID: unique()}) },
		"the wait for an answer": func() error {
			_, _, err := p.asks.answerOf(ctx, unique(), unique())
			return err
		},
		"the end of silent processes": func() error { return p.presence.reapSilent(ctx, 1) },
	}
}
