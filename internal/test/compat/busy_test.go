package compat

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/busy.db and busy.sql. It is frozen, because the stores hold its histories.

// Steps has made some steps by hand-off and waits for a worker.
func Steps(ctx *orchestration.Context, n int) (int, error) {
	for range 5 {
		var err error
		if n, err = orchestration.CallActivityNamed[int](ctx, "quick", n); err != nil {
			return 0, err
		}
	}
	return orchestration.CallActivity(ctx, Later, n, orchestration.WithQueue("later"))
}

// Wide has joined half of its activities.
func Wide(ctx *orchestration.Context, n int) (int, error) {
	all := make([]orchestration.Future[int], 2*n)
	for i := range n {
		all[i] = orchestration.StartActivityNamed[int](ctx, "quick", i)
		all[n+i] = orchestration.StartActivity(ctx, Later, i, orchestration.WithQueue("later"))
	}
	got, err := orchestration.All(ctx, all...)
	sum := 0
	for _, v := range got {
		sum += v
	}
	return sum, err
}

// Tally has added three numbers and waits for more.
func Tally(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	sum := 0
	for {
		n, err := orchestration.Events[int](ctx, "add").Receive(ctx)
		if err != nil || n == 0 {
			return sum, err
		}
		sum += n
	}
}

// Naps sleeps and wakes late.
func Naps(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return "awake", ctx.Sleep(10 * time.Second)
}

func busyRegistry(finishes bool) *runtime.Registry {
	reg := runtime.NewRegistry()
	queue := "nobody"
	if finishes {
		queue = "later"
	}
	quick := func(_ context.Context, n int) (int, error) { return n + 1, nil }
	for _, err := range []error{
		runtime.AddOrchestration(reg, Steps), runtime.AddOrchestration(reg, Wide), runtime.AddOrchestration(reg, Tally),
		runtime.AddOrchestration(reg, Naps), runtime.AddActivity(reg, Later, runtime.OnQueue(queue)),
		runtime.AddActivity(reg, activity.Define("quick", quick)),
	} {
		if err != nil {
			panic(err)
		}
	}
	return reg
}

// busy starts instances that stop where the comments of their code say.
func (n *node) busy(t *testing.T) {
	t.Helper()
	ctx, id, number := t.Context(), client.WithID, must[client.Handle[int]](t)
	queued := func(want int) func(client.Description) bool {
		return func(d client.Description) bool {
			count := 0
			for _, a := range d.Activities {
				if a.Name == "Later" && a.State == client.ActivityQueued {
					count++
				}
			}
			return count == want && len(d.Activities) == want
		}
	}
	number(client.Start(ctx, n.c, Steps, 1, id("steps")))
	n.until(t, "steps", queued(1))
	number(client.Start(ctx, n.c, Wide, 20, id("wide")))
	n.until(t, "wide", queued(20))
	tally := number(client.Start(ctx, n.c, Tally, orchestration.None{}, id("tally")))
	for i := range 3 {
		if err := tally.Raise(ctx, "add", i+1); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "tally", func(d client.Description) bool { return d.InboxMessages == 0 && d.HistoryLength >= 4 })
	must[client.Handle[string]](t)(client.Start(ctx, n.c, Naps, orchestration.None{}, id("naps")))
	n.until(t, "naps", func(d client.Description) bool { return d.HistoryLength == 2 })
}

func (n *node) busyEnds(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, more := range []int{4, 0} {
		if err := n.c.Raise(ctx, "tally", "add", more); err != nil {
			t.Fatal(err)
		}
	}
	n.ends(ctx, t, map[string]string{"steps": `7`, "wide": `420`, "tally": `10`, "naps": `"awake"`})
}

func TestRecordBusy(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := t.TempDir() + "/busy.db"
	n := open(t, path, busyRegistry(false))
	n.busy(t)
	n.record(t, path, "busy")
}

func TestRecordBusyServer(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	url := postgrestest.URL(t)
	n := openOn(t, server(t, url, recorded), busyRegistry(false))
	n.busy(t)
	n.close(t)
	dump(t, url, "busy.sql")
}

func TestBusyServerFinishes(t *testing.T) {
	n := openOn(t, restored(t, "busy.sql"), busyRegistry(true))
	defer n.close(t)
	n.busyEnds(t)
}

func TestBusyStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "busy.db"), busyRegistry(true))
	defer n.close(t)
	n.busyEnds(t)
}
