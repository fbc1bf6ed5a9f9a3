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

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// dropLater removes a schema with an unusual name.
func dropLater(t *testing.T, url, schema string) {
	t.Helper()
	drop := func() {
		conn, err := pgx.Connect(withoutCancel(t), url)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = conn.Exec(withoutCancel(t), "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
		if err := errors.Join(err, conn.Close(withoutCancel(t))); err != nil {
			t.Error(err)
		}
	}
	drop()
	t.Cleanup(drop)
}

func TestAnySchemaName(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	for i, name := range []string{
		`with "quotes"`, "it's", "a b", "Größe 🎉", "UPPER", "perdure.x", "perdure.perdure.", "$1", "--", "select", strings.Repeat("x", 63), `\`, "%s",
	} {
		t.Run(name, func(t *testing.T) {
			if i > 2 {
				longtest.Skip(t) // to make a schema takes a second
			}
			dropLater(t, url, name)
			p := opened(t, url, Options{Schema: name})
			in := create(t, p, "in")
			if turns := fetchTurns(t, p, turnsRequest()); len(turns) != 1 || turns[0].Instance.Key != in.Key {
				t.Errorf("fetched %+v", turns)
			}
			if n := number(t, p, `SELECT count(*) FROM pg_tables WHERE schemaname = $1`, name); n < 10 {
				t.Errorf("%d tables in the schema", n)
			}
		})
	}
}

func TestSchemaNamesThatAreRefused(t *testing.T) {
	longtest.Skip(t)
	for _, name := range []string{"pg_mine", "a\x00b", strings.Repeat("x", 64), "\xff"} {
		_, err := OpenWith(t.Context(), postgrestest.URL(t), Options{Schema: name})
		if !errors.Is(err, provider.ErrInvalid) || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestManyNodesMigrateAtOnce(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t, "default_transaction_isolation=repeatable read")
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			p, err := OpenWith(t.Context(), cluster.URL()+"&pool_max_conns=4", Options{Logger: silent})
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	p := opened(t, cluster.URL(), Options{})
	if n := number(t, p, `SELECT count(*) FROM perdure.migration`); n != int64(knownMigrations(t)) {
		t.Errorf("%d migrations were applied", n)
	}
	// With that default isolation a store that relied on it would fail or lose messages.
	in := create(t, p, "in")
	var sent sync.WaitGroup
	for range 50 {
		sent.Go(func() { send(t, p, in.Key, text("m")) })
	}
	sent.Wait()
	checkConsistent(t, p)
}

func TestNoMigrate(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	o := Options{Schema: postgrestest.Schema(t, url), NoMigrate: true, Logger: silent}
	if _, err := OpenWith(t.Context(), url, o); !errors.Is(err, provider.ErrNotStore) || !strings.Contains(err.Error(), "perdure migrate") {
		t.Errorf("without tables: %v", err)
	}
	opened(t, url, Options{Schema: o.Schema})
	opened(t, url, o)
}

func TestHazard41_NewerSchemaIsRefusedUnlessItAdmitsUs(t *testing.T) {
	p := store(t)
	exec(t, p, `INSERT INTO perdure.migration VALUES ($1, 'later', $2, 0)`, codeLevel+1, oldestLevel)
	opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema}) // this one lets older releases work
	exec(t, p, `INSERT INTO perdure.migration VALUES ($1, 'much later', $2, 0)`, codeLevel+2, codeLevel+1)
	if _, err := OpenWith(t.Context(), postgrestest.URL(t), Options{Schema: p.db.opts.Schema}); !errors.Is(err, provider.ErrNewerSchema) {
		t.Errorf("a schema that does not admit this release: %v", err)
	}
}

func TestAnotherProgramsSchemaIsRefused(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	exec(t, p, `DROP TABLE perdure.migration`)
	exec(t, p, `CREATE TABLE perdure.migration (id int)`)
	if _, err := OpenWith(t.Context(), postgrestest.URL(t), Options{Schema: p.db.opts.Schema}); !errors.Is(err, provider.ErrNotStore) {
		t.Errorf("got %v", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t)
	for _, c := range []struct {
		url, says string
		retry     bool
	}{
		{"not a url", "URL", false},
		{fmt.Sprintf("postgres://postgres@127.0.0.1:%d/missing?sslmode=disable", cluster.Port()), "missing", false},
		{fmt.Sprintf("postgres://nobody@127.0.0.1:%d/postgres?sslmode=disable", cluster.Port()), "nobody", false},
		{"postgres://postgres@127.0.0.1:1/postgres?sslmode=disable", "127.0.0.1", true},
	} {
		_, err := OpenWith(t.Context(), c.url, Options{Logger: silent})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want a word on %q", c.url, err, c.says)
		}
		if provider.Retryable(err) != c.retry || provider.OutcomeOf(err) != provider.OutcomeNothing {
			t.Errorf("%s: %v: retryable %t, outcome %s", c.url, err, provider.Retryable(err), provider.OutcomeOf(err))
		}
	}
	if _, err := OpenWith(t.Context(), cluster.URL(), Options{ListenURL: "::", Logger: silent}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a bad ListenURL: %v", err)
	}
}

// A read-only server may be a standby that is promoted soon.
func TestReadOnlyServer(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	in := create(t, p, "in")
	readOnly, err := OpenWith(t.Context(), postgrestest.URL(t)+"&default_transaction_read_only=on", Options{Schema: p.db.opts.Schema, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, readOnly)
	get(t, readOnly, in.Key)
	_, sent := readOnly.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text("m")})
	_, fetched := readOnly.FetchTurns(t.Context(), turnsRequest())
	for _, err := range []error{sent, fetched} {
		if provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
			t.Errorf("got %v", err)
		}
	}
}

// A standby may lack what its primary has stored. Whoever opens it is told.
func TestStandbyIsNamed(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	cluster := postgrestest.New(t)
	logs := func(use func(p *Provider)) string {
		var log bytes.Buffer
		p, err := OpenWith(t.Context(), cluster.URL(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		use(p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	var in provider.Instance
	primary := logs(func(p *Provider) { in = create(t, p, "in") })
	cluster.Stop(t, syscall.SIGINT)
	cluster.Demote(t)
	cluster.Start(t)
	standby := logs(func(p *Provider) { get(t, p, in.Key) })
	if strings.Contains(primary, "standby") || !strings.Contains(standby, "is a standby") {
		t.Errorf("the primary logs %q, the standby %q", primary, standby)
	}
}

func TestTimeoutsOfMinutes(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	create(t, opened(t, url, Options{Schema: postgrestest.Schema(t, url), Timeout: 90e9}), "in")
}

// The text of a panic may contain anything.
func TestFailureWithAnyBytes(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	create(t, p, "in")
	req := turnsRequest()
	turns := fetchTurns(t, p, req)
	const message = "panic: \x00\xff"
	item := provider.TurnRelease{Key: turns[0].Instance.Key, Token: req.Token, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "panic", Message: message}}
	if _, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}}); err != nil {
		t.Fatal(err)
	}
	if in := get(t, p, item.Key); in.Blocked == nil || in.Blocked.Message != message {
		t.Errorf("stored is %+v", in.Blocked)
	}
}

// knownMigrations returns how many migrations this release has. Their numbers may have gaps.
func knownMigrations(t *testing.T) int {
	t.Helper()
	list, err := relational.Migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
