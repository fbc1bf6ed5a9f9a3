package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

var (
	dashboardInstances = flag.Int64("dashboard.instances", fewInstances, "TestDashboardPages and TestDashboardTabs: how many instances the stores hold")
	dashboardStores    = flag.String("dashboard.stores", "", "TestDashboardPages and TestDashboardTabs: the stores to measure; default: both, or sqlite for few instances")
)

// mostCalls bounds how many calls of the store a page makes: the lists of 50 schedules and jobs read one by one.
const mostCalls = 120

// TestDashboardPages prints how long each page takes to answer in a large store: after a fresh open, and warm as the median of 5. The handler
// is a new one each time, so nothing is cached. It is a measurement, but for the number of calls of the store that a page makes:
//
//	go -C bench test . -run TestDashboardPages -dashboard.instances 1000000 -timeout 1h -v
func TestDashboardPages(t *testing.T) {
	for _, kind := range stores() {
		open := filled(t, kind, *dashboardInstances)
		fillPages(t, open)
		worst := [2]time.Duration{}
		t.Logf("| %s, %d instances | fresh, ms | warm, ms | calls |", kind, *dashboardInstances)
		for _, page := range dashboardPages(t, open) {
			fresh, warm, calls := timePage(t, open, page)
			worst[0], worst[1] = max(worst[0], fresh), max(worst[1], warm)
			t.Logf("| %s | %.1f | %.1f | %d |", page, fresh.Seconds()*1e3, warm.Seconds()*1e3, calls)
			if calls > mostCalls {
				t.Errorf("%s: %s makes %d calls of the store, want at most %d", kind, page, calls, mostCalls)
			}
		}
		t.Logf("| worst on %s | %.1f | %.1f | |", kind, worst[0].Seconds()*1e3, worst[1].Seconds()*1e3)
	}
}

// fewInstances are too few to measure: they show only that the tests work.
const fewInstances = 500

// stores returns the kinds of stores to measure.
func stores() []string {
	switch {
	case *dashboardStores != "":
		return strings.Fields(*dashboardStores)
	case *dashboardInstances <= fewInstances:
		return []string{"sqlite"}
	default:
		return []string{"sqlite", "postgres"}
	}
}

// filled returns a function that opens a store with so many instances.
func filled(t *testing.T, kind string, all int64) func() provider.Provider {
	t.Helper()
	if kind == "postgres" {
		return filledPostgres(t, all)
	}
	return filledSQLite(t, all)
}

// fillPages fills the lists of schedules, bulk jobs and acts with a page each.
func fillPages(t *testing.T, open func() provider.Provider) {
	t.Helper()
	const page = 50
	store := open()
	if _, _, err := upgrade.Finish(t.Context(), provider.FullOf(store), replay.EngineLevel, true); err != nil { // it had instances before its first node
		t.Fatal(errors.Join(err, store.Close()))
	}
	n, err := workload.NewNode(t.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	as, err := n.Client.As(client.Principal{Name: "ann", Role: client.RoleAdmin})
	for i := range page {
		if err == nil {
			_, err = client.CreateScheduleNamed(t.Context(), n.Client, fmt.Sprint("nightly-", i), client.ScheduleSpec{Crons: []string{"0 3 * * *"}}, "Root", nil)
		}
		if err == nil {
			_, err = operate.New(n.Client).StartBulk(t.Context(), operate.BulkJob{Act: client.ActCancel, Filter: client.Filter{IDPrefix: "nobody"}, Max: 1})
		}
		if err == nil {
			err = as.Raise(t.Context(), "root", "news", i)
		}
	}
	if err == nil {
		err = settle(t.Context(), n.Client)
	}
	if err := errors.Join(err, n.Close(context.WithoutCancel(t.Context())), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// settle waits until a node has run all schedules and jobs.
func settle(ctx context.Context, c *client.Client) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		schedules, err := c.Schedules(ctx, "", client.Page{})
		if err != nil {
			return err
		}
		jobs, _, err := operate.New(c).Bulks(ctx, client.Page{})
		if err != nil {
			return err
		}
		waits := func(d client.ScheduleDescription) bool { return d.Revision == 0 }
		goesOn := func(j operate.BulkInfo) bool { return !j.Over() }
		if !slices.ContainsFunc(schedules.Items, waits) && !slices.ContainsFunc(jobs, goesOn) {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dashboardPages returns the addresses of all pages.
func dashboardPages(t *testing.T, open func() provider.Provider) []string {
	t.Helper()
	store := open()
	h, err := client.Lookup[json.RawMessage](t.Context(), clienttest.New(t, store, client.Options{}), "root")
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	root := "/instances/" + h.Key().String()
	return []string{
		"/", "/instances", "/instances?status=Running", "/instances?status=Failed", "/instances?status=Suspended", "/instances?blocked=true",
		"/instances?orchestration=nobody", "/instances?prefix=nobody", "/instances?attribute=number:int%3D7", "/instances?status=Running&attribute=number:int%3D7",
		"/instances?createdBefore=2000-01-01T00:00:00Z", "/instances?endedAfter=2000-01-01T00:00:00Z", "/instances?parent=" + h.Key().String(), "/lookup?id=root",
		root, root + "/history", root + "/terminate", "/instances/start", "/instances/act?keys=" + h.Key().String(),
		"/schedules", "/schedules/create", "/jobs", "/jobs/start?filter=status%3DRunning", "/jobs/start?filter=", "/queues", "/nodes", "/dead-letters", "/retention", "/audit",
		"/audit?principal=nobody",
	}
}

// counting is a store that counts the calls of a page.
type counting struct {
	*provider.Full

	calls *atomic.Int64
}

// Get implements provider.Provider.
func (c counting) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	c.calls.Add(1)
	return c.Full.Get(ctx, req)
}

// ReadHistory implements provider.Provider.
func (c counting) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	c.calls.Add(1)
	return c.Full.ReadHistory(ctx, req)
}

// List implements provider.Lister.
func (c counting) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	c.calls.Add(1)
	return c.Full.List(ctx, req)
}

// Count implements provider.Lister.
func (c counting) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	c.calls.Add(1)
	return c.Full.Count(ctx, req)
}

// Stats implements provider.Meter.
func (c counting) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	c.calls.Add(1)
	return c.Full.Stats(ctx, req)
}

// DeadLetters implements provider.Redriver.
func (c counting) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	c.calls.Add(1)
	return c.Full.DeadLetters(ctx, req)
}

// Record implements provider.Keeper.
func (c counting) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	c.calls.Add(1)
	return c.Full.Record(ctx, req)
}

// newDashboard makes a dashboard for an admin.
func newDashboard(tb testing.TB, store provider.Provider) http.Handler {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h, err := dashboard.Handler(clienttest.New(tb, store, client.Options{Logger: quiet}), dashboard.Options{
		Authorize: func(*http.Request) (client.Principal, error) {
			return client.Principal{Name: "ann", Role: client.RoleAdmin}, nil
		},
		Logger: quiet,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// timePage returns how long the first request takes after an open, the median of five more, and how many calls of the store each makes.
func timePage(t *testing.T, open func() provider.Provider, page string) (fresh, warm time.Duration, calls int64) {
	t.Helper()
	store := open()
	counted := counting{provider.FullOf(store), new(atomic.Int64)}
	var took []time.Duration
	for range 6 {
		h := newDashboard(t, counted)
		counted.calls.Store(0)
		w := httptest.NewRecorder()
		began := time.Now()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+page, nil))
		took = append(took, time.Since(began))
		if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
			t.Fatalf("%s: status %d: %s", page, w.Code, w.Body.String())
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	fresh = took[0]
	slices.Sort(took[1:])
	return fresh, took[3], counted.calls.Load()
}
