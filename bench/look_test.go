package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

var lookInstances = flag.Int64("look.instances", 0, "TestLookTable: how many instances the stores hold; 0 skips it")

// lookKey has the text N for the number of an instance.
const (
	sqliteKey   = "unhex(printf('%032x', N))"
	postgresKey = "lpad(to_hex(N), 32, '0')::uuid"
)

// TestLookTable prints how long it takes to look at a large store: after a fresh open as the median of 3, and warm as that of 5 more each.
// It is a measurement and fails only if a call does:
//
//	go -C bench test . -run TestLookTable -look.instances 1000000 -timeout 1h -v
func TestLookTable(t *testing.T) {
	if *lookInstances == 0 {
		t.Skip("it takes minutes: give -look.instances 1000000")
	}
	for _, kind := range []string{"sqlite", "postgres"} {
		fill := filledSQLite
		if kind == "postgres" {
			fill = filledPostgres
		}
		open := fill(t, *lookInstances)
		worst := [2]time.Duration{}
		t.Logf("| %s, %d instances | fresh, ms | warm, ms |", kind, *lookInstances)
		for _, l := range looks(*lookInstances) {
			var opens, calls []time.Duration
			for range 3 {
				fresh, warm := timeLook(t, open, l.do)
				opens, calls = append(opens, fresh), append(calls, warm)
			}
			slices.Sort(opens)
			slices.Sort(calls)
			fresh, warm := opens[1], calls[1]
			worst[0], worst[1] = max(worst[0], fresh), max(worst[1], warm)
			t.Logf("| %s | %.1f | %.1f |", l.name, fresh.Seconds()*1e3, warm.Seconds()*1e3)
		}
		t.Logf("| worst on %s | %.1f | %.1f |", kind, worst[0].Seconds()*1e3, worst[1].Seconds()*1e3)
	}
}

type look struct {
	name string
	do   func(ctx context.Context, p *provider.Full, c *client.Client) error
}

// looks are a page and a count by each filter, and what a page shows of one instance.
func looks(all int64) (list []look) {
	for _, f := range listing.Filters(all) {
		list = append(list, look{"list: " + f.Name, func(ctx context.Context, p *provider.Full, _ *client.Client) error {
			_, err := p.List(ctx, provider.ListRequest{Filter: f.Asked, Max: 100})
			return err
		}}, look{"count: " + f.Name, func(ctx context.Context, p *provider.Full, _ *client.Client) error {
			_, err := p.Count(ctx, provider.CountRequest{Filter: f.Asked, Max: 10_000})
			return err
		}})
	}
	one := func(name string, do func(ctx context.Context, h client.Handle[json.RawMessage]) error) {
		list = append(list, look{name, func(ctx context.Context, _ *provider.Full, c *client.Client) error {
			h, err := client.Lookup[json.RawMessage](ctx, c, "root")
			return errors.Join(err, do(ctx, h))
		}})
	}
	one("describe", func(ctx context.Context, h client.Handle[json.RawMessage]) error {
		_, err := h.Describe(ctx)
		return err
	})
	one("follow, first", func(ctx context.Context, h client.Handle[json.RawMessage]) error {
		_, _, err := h.Follow(ctx, "")
		return err
	})
	one("tree of 21", func(ctx context.Context, h client.Handle[json.RawMessage]) error {
		tree, err := h.Tree(ctx, client.TreeLimits{})
		if err == nil && tree.Size() != 21 {
			err = fmt.Errorf("the tree has %d instances", tree.Size())
		}
		return err
	})
	one("last page of the history", func(ctx context.Context, h client.Handle[json.RawMessage]) error {
		_, err := h.HistoryPage(ctx, client.HistoryRange{Newest: true})
		return err
	})
	list = append(list, look{"versions", func(ctx context.Context, _ *provider.Full, c *client.Client) error {
		_, err := operate.New(c).Versions(ctx, "")
		return err
	}})
	return list
}

// timeLook returns how long the first call takes after an open, and the median of five more.
func timeLook(t *testing.T, open func() provider.Provider, do func(context.Context, *provider.Full, *client.Client) error) (fresh, warm time.Duration) {
	t.Helper()
	store := open()
	c := clienttest.New(t, store, client.Options{})
	var took []time.Duration
	for range 6 {
		began := time.Now()
		if err := do(t.Context(), provider.FullOf(store), c); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	fresh = took[0]
	slices.Sort(took[1:])
	return fresh, took[3]
}

// withRoot starts the instance "root" and makes it the parent of 20 others.
func withRoot(t *testing.T, open func() provider.Provider, adopt func(key string)) {
	t.Helper()
	store := open()
	h, err := client.StartNamed[orchestration.None](t.Context(), clienttest.New(t, store, client.Options{}), "Root", nil, client.WithID("root"))
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	adopt(h.Key().String())
}

func filledSQLite(t *testing.T, all int64) func() provider.Provider {
	t.Helper()
	path := filepath.Join(t.TempDir(), "look.db")
	open := func() provider.Provider {
		p, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	fill := listing.Dialect{
		Table: "perdure_", Key: sqliteKey, True: "1", No: "0",
		Recursive: "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < TOTAL)",
	}
	exec := func(statements ...string) {
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := open().Close(); err != nil {
		t.Fatal(err)
	}
	exec(fill.Fill(all)...)
	withRoot(t, open, func(key string) {
		exec("UPDATE perdure_instance SET parent_key = unhex('" + strings.ReplaceAll(key, "-", "") + "') WHERE parent_key IS NOT NULL")
	})
	return open
}

func filledPostgres(t *testing.T, all int64) func() provider.Provider {
	t.Helper()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	open := func() provider.Provider {
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	fill := listing.Dialect{
		Table: schema + ".", Key: postgresKey, Override: "OVERRIDING SYSTEM VALUE", True: "true", No: "false",
		Recursive: "WITH numbers AS (SELECT n FROM generate_series(0, TOTAL::bigint - 1) n)",
	}
	exec := func(statements ...string) { postgrestest.Exec(t, url, statements...) }
	if err := open().Close(); err != nil {
		t.Fatal(err)
	}
	exec(append(fill.Fill(all), "VACUUM ANALYZE "+schema+".instance", "VACUUM ANALYZE "+schema+".attribute")...)
	withRoot(t, open, func(key string) {
		exec("UPDATE " + schema + ".instance SET parent_key = '" + key + "' WHERE parent_key IS NOT NULL")
	})
	return open
}
