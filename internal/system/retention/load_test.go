package retention_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

var load = flag.Int("retention.load", 0, "measure a bulk delete of so many ended instances beside live load; 0: do not")

// A bulk delete, and retention, beside live load cost less than 10 % of the throughput. Run it on a quiet machine:
//
//	go test ./internal/system/retention -run TestCostBesideLoad -retention.load 100000 -v -timeout 1h
func TestCostBesideLoad(t *testing.T) {
	if *load == 0 {
		t.Skip("it takes minutes: see -retention.load")
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "load.db")
		old, err := sqlite.OpenWith(path, sqlite.Options{Clock: func() time.Time { return time.Now().Add(-3 * day) }, Synchronous: sqlite.Off})
		if err != nil {
			t.Fatal(err)
		}
		makeEnded(t, old, *load)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		withLoad(t, store)
	})
	t.Run("postgres", func(t *testing.T) {
		url := postgrestest.URL(t)
		schema := postgrestest.Schema(t, url)
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		makeEnded(t, store, *load)
		postgrestest.Exec(t, url, fmt.Sprintf(`UPDATE "%s".instance SET ended_at = ended_at - %d`, schema, (3*day).Microseconds()))
		withLoad(t, store)
	})
}

// withLoad measures the throughput alone and beside a bulk job, and then alone and beside retention.
func withLoad(t *testing.T, store provider.Provider) {
	t.Helper()
	e := enginetest.On(t, store, runtime.Options{})
	e.Unchecked("its old instances are made up")
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Quick); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	c := e.Client(client.Options{})
	perSecond(t, c, 5*time.Second) // warm
	p, err := operate.New(c).PreviewBulk(t.Context(), client.Filter{IDPrefix: "old-"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := operate.New(c).StartBulk(t.Context(), operate.BulkJob{
		Act: client.ActDelete, Filter: client.Filter{IDPrefix: "old-"}, Before: p.At, Max: int64(*load), Rate: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	alternate(t, c, "a bulk delete of 100 a second", b.Resume, b.Stop)
	alternate(t, c, "retention", func(ctx context.Context) error {
		return operate.New(c).SetRetention(ctx, operate.Retention{Rules: []operate.RetentionRule{{Age: day}}})
	}, func(ctx context.Context) error { return operate.New(c).SetRetention(ctx, operate.Retention{}) })
}

// alternate measures the throughput with what begin lets run and end stops, and without it, in turns: other work of the machine
// then concerns both alike.
func alternate(t *testing.T, c *client.Client, what string, begin, end func(context.Context) error) {
	t.Helper()
	const turns, turn = 6, 6 * time.Second
	there := func() int64 {
		n, err := c.Count(t.Context(), client.Filter{IDPrefix: "old-"})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var alone, with float64
	gone := int64(0)
	for n := range 2 * turns {
		runs := n%4 == 1 || n%4 == 2
		do := end
		if runs {
			do = begin
		}
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
		perSecond(t, c, time.Second) // what began before ends
		before := there()
		rate := perSecond(t, c, turn)
		if after := there(); runs {
			with, gone = with+rate/turns, gone+before-after
		} else {
			alone += rate / turns
		}
	}
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%.0f instances a second alone, %.0f beside %s, which deleted %.0f a second: %.1f %% less", alone, with, what,
		float64(gone)/(turns*turn.Seconds()), 100*(1-with/alone))
	if gone == 0 || with < 0.9*alone {
		t.Errorf("%.0f instances a second alone, and %.0f beside %s: want 90 %%", alone, with, what)
	}
}

// makeEnded stores ended instances.
func makeEnded(t *testing.T, store provider.Provider, n int) {
	t.Helper()
	var all sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		all.Go(func() {
			for k := next.Add(1); k <= int64(n); k = next.Add(1) {
				id := fmt.Sprintf("old-%07d", k)
				key := provider.NewKey(id)
				_, err := store.Create(t.Context(), provider.CreateRequest{
					ID: id, Key: key, Name: "Old", Commit: provider.UUID(uuid.New()), Message: provider.NewMessage{Payload: make([]byte, 512)},
				})
				if err == nil {
					_, err = store.Steer(t.Context(), provider.SteerRequest{
						Key: key, Action: provider.SteerTerminate, Commit: provider.UUID(uuid.New()), Event: make([]byte, 512),
					})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// perSecond runs instances one after the other on some goroutines, and returns how many end in a second.
func perSecond(t *testing.T, c *client.Client, d time.Duration) float64 {
	t.Helper()
	var all sync.WaitGroup
	var done atomic.Int64
	began := time.Now()
	for range 8 {
		all.Go(func() {
			for time.Since(began) < d {
				h, err := client.Start(t.Context(), c, Quick, false)
				if err == nil {
					_, err = h.Wait(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}
