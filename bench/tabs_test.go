package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	usage "github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
)

var (
	dashboardW1     = flag.Int("dashboard.w1", 200, "TestDashboardTabs: orchestrations of W1")
	dashboardRounds = flag.Int("dashboard.rounds", 1, "TestDashboardTabs: how often to run W1 without and with open tabs")
	dashboardAlone  = flag.Duration("dashboard.alone", 0, "TestDashboardTabs: how long to look at an idle store, which shows best what looking costs; 0: not")
)

const openTabs = 10

// livePage finds in a page how often its script reads it, in seconds.
var livePage = regexp.MustCompile(`data-live="(\d+)"`)

// TestDashboardTabs prints what the dashboard in ten open tabs costs W1: its rate and the time of the processors, without and with the tabs, in
// turns, each as the median of all rounds. It is a measurement and fails only if a request does:
//
//	go -C bench test . -run TestDashboardTabs -dashboard.instances 1000000 -dashboard.w1 20000 -dashboard.rounds 5 -dashboard.alone 30s -timeout 1h -v
func TestDashboardTabs(t *testing.T) {
	for _, kind := range stores() {
		open := filled(t, kind, *dashboardInstances)
		fillPages(t, open)
		pages := tabPages(t, open)
		var without, with []ran
		for range *dashboardRounds {
			without = append(without, runBeside(t, open(), nil, runW1))
			with = append(with, runBeside(t, open(), pages, runW1))
		}
		a, b := middle(without), middle(with)
		t.Logf("| %s, %d instances | W1, 1/s | CPU each, µs | requests | their time, ms |", kind, *dashboardInstances)
		t.Logf("| without the dashboard | %.1f | %.1f | | |", a.rate, a.cpu)
		t.Logf("| with ten tabs | %.1f | %.1f | %d | %.1f |", b.rate, b.cpu, b.requests, b.took.Seconds()*1e3)
		if *dashboardAlone > 0 {
			idle, looking := runBeside(t, open(), nil, runNothing), runBeside(t, open(), pages, runNothing)
			t.Logf("| ten tabs alone: %.2f ms of processors a second, which is %.2f %% of what W1 uses; %d requests of %.1f ms | | | | |",
				(looking.cpu-idle.cpu)/1e3, (looking.cpu-idle.cpu)/(a.cpu*a.rate)*100, looking.requests, looking.took.Seconds()*1e3/float64(looking.requests))
		}
		t.Logf("| difference | %+.1f %% | %+.1f %% | | |", (b.rate/a.rate-1)*100, (b.cpu/a.cpu-1)*100)
	}
}

// tabPages are what ten people look at.
func tabPages(t *testing.T, open func() provider.Provider) (pages []string) {
	t.Helper()
	root := ""
	for _, page := range dashboardPages(t, open) {
		if strings.HasPrefix(page, "/instances/") && strings.Count(page, "/") == 2 && !strings.Contains(page, "?") && !strings.HasSuffix(page, "/start") {
			root = page
		}
	}
	pages = []string{"/", "/instances", "/instances?status=Running", "/instances?status=Failed", root, "/schedules", "/jobs", "/queues", "/nodes", "/audit"}
	if root == "" || len(pages) != openTabs {
		t.Fatalf("the pages are %q", pages)
	}
	return pages
}

// ran is what a run of W1 has come to.
type ran struct {
	rate, cpu float64 // orchestrations a second, and microseconds of processors for each
	requests  int64
	took      time.Duration // of all requests together
}

func middle(all []ran) ran {
	slices.SortFunc(all, func(a, b ran) int { return int((a.cpu - b.cpu) * 1e3) })
	return all[len(all)/2]
}

// runW1 runs W1 on a node.
func runW1(ctx context.Context, n *workload.Node) (workload.Result, error) {
	return workload.Find("w1")[0].Run(ctx, n, workload.Size{N: *dashboardW1})
}

// runNothing waits, and counts the seconds as work done.
func runNothing(ctx context.Context, _ *workload.Node) (workload.Result, error) {
	began := time.Now()
	wait := time.NewTimer(*dashboardAlone)
	defer wait.Stop()
	select {
	case <-wait.C:
		return workload.Result{Done: int(dashboardAlone.Seconds()), Took: time.Since(began)}, nil
	case <-ctx.Done():
		return workload.Result{}, ctx.Err()
	}
}

// runBeside does work beside tabs that show the pages.
func runBeside(
	t *testing.T, store provider.Provider, pages []string, work func(context.Context, *workload.Node) (workload.Result, error),
) (r ran) {
	t.Helper()
	n, err := workload.NewNode(t.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	server := httptest.NewServer(newDashboard(t, store))
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	var requests, took atomic.Int64
	var seen sync.WaitGroup
	for _, page := range pages {
		seen.Add(1)
		looking.Go(func() {
			if err := lookAgain(ctx, server.URL+page, sync.OnceFunc(seen.Done), &requests, &took); err != nil {
				t.Error(err)
			}
		})
	}
	seen.Wait()
	requests.Store(0)
	took.Store(0)
	before, _ := usage.Self()
	res, err := work(ctx, n)
	after, _ := usage.Self()
	stop()
	looking.Wait()
	server.Close()
	enginetest.CheckLeases(t, store)
	if err := errors.Join(err, n.Close(context.WithoutCancel(t.Context())), store.Close()); err != nil {
		t.Fatal(err)
	}
	return ran{res.PerSecond(), (after.CPU - before.CPU).Seconds() / float64(res.Done) * 1e6, requests.Load(), time.Duration(took.Load())}
}

// lookAgain reads a page as its script does: now, and again as often as the page says, with the ETag of what is shown.
func lookAgain(ctx context.Context, page string, seen func(), requests, took *atomic.Int64) error {
	defer seen()
	again := time.NewTicker(time.Hour)
	defer again.Stop()
	for etag := ""; ; {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		r.Header.Set("X-Perdure-Fragment", "1")
		r.Header.Set("If-None-Match", etag)
		began := time.Now()
		var body []byte
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			body, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case res.StatusCode == http.StatusOK:
			etag = res.Header.Get("ETag")
			live := livePage.FindSubmatch(body)
			if live == nil {
				return fmt.Errorf("%s is not live", page)
			}
			seconds, _ := strconv.Atoi(string(live[1]))
			again.Reset(time.Duration(seconds) * time.Second)
		case res.StatusCode != http.StatusNotModified:
			return fmt.Errorf("%s: status %d", page, res.StatusCode)
		}
		requests.Add(1)
		took.Add(int64(time.Since(began)))
		seen()
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}
