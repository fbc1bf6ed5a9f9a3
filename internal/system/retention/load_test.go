package retention_test

import (
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
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

var load = flag.Int("retention.load", 0, "measure a bulk delete of so many ended instances beside live load; 0: do not")

// A bulk delete beside live load costs less than 10 % of the throughput. Run it on a quiet machine:
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
		besideLoad(t, store, true)
	})
	t.Run("postgres", func(t *testing.T) {
		url := postgrestest.URL(t)
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		makeEnded(t, store, *load)
		besideLoad(t, store, false)
	})
}

// besideLoad measures the throughput alone, beside a bulk job and, if the instances are old, beside retention.
func besideLoad(t *testing.T, store provider.Provider, old bool) {
	t.Helper()
	e := enginetest.On(t, store, runtime.Options{})
	e.Unchecked("its old instances are made up")
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Quick); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	c := e.Client(client.Options{})
	const round = 15 * time.Second
	perSecond(t, c, round/3) // warm
	alone := perSecond(t, c, round)
	judge := func(what string, with float64, gone int64) {
		t.Logf("%.0f instances a second alone, %.0f beside %s, which deleted %d: %.1f %% less", alone, with, what, gone, 100*(1-with/alone))
		if gone == 0 || with < 0.9*alone {
			t.Errorf("%.0f instances a second alone, and %.0f beside %s: want 90 %%", alone, with, what)
		}
	}
	p, err := c.PreviewBulk(t.Context(), client.Filter{IDPrefix: "old-"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.StartBulk(t.Context(), client.BulkJob{
		Act: client.ActDelete, Filter: client.Filter{IDPrefix: "old-"}, Before: p.At, Max: int64(*load), Rate: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	with := perSecond(t, c, round)
	info, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	judge("a bulk delete", with, info.Done)
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !old {
		return
	}
	alone = perSecond(t, c, round)
	before, err := c.Count(t.Context(), client.Filter{IDPrefix: "old-"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetRetention(t.Context(), client.Retention{Rules: []client.RetentionRule{{Age: day}}}); err != nil {
		t.Fatal(err)
	}
	with = perSecond(t, c, round)
	after, err := c.Count(t.Context(), client.Filter{IDPrefix: "old-"})
	if err != nil {
		t.Fatal(err)
	}
	judge("retention", with, before-after)
	if err := c.SetRetention(t.Context(), client.Retention{}); err != nil {
		t.Error(err)
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
