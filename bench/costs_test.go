package bench

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/costs"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/sqlite"
)

// runChain runs an orchestration of n activities in sequence.
func runChain(t *testing.T, n *workload.Node, activities int) client.Handle[int] {
	t.Helper()
	// When this fetch finds nothing, the loops of the runtime are parked.
	if _, err := n.Store.FetchTurns(t.Context(), idle()); err != nil {
		t.Fatal(err)
	}
	h, err := client.Start(t.Context(), n.Client, workload.Chain, workload.Load{N: activities})
	if err == nil {
		_, err = h.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// least returns the minimum of some measurements. Other load can only add to a measurement.
func least(measure func() float64) float64 {
	fewest := measure()
	for range 4 {
		fewest = min(fewest, measure())
	}
	return fewest
}

// allocations returns the number of allocations of the whole process during fn.
func allocations(fn func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// A step costs as many commits and as many log bytes as stored. The log must not restart during the measurement.
func TestCostsOnFile(t *testing.T) {
	const activities = 30
	path := filepath.Join(t.TempDir(), "costs.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	n, end := onStore(t, store)
	t.Cleanup(end)
	runChain(t, n, 5)
	logged := func() float64 {
		length, err := costs.LogLength(path)
		if err != nil {
			t.Fatal(err)
		}
		return float64(length)
	}
	grown := func() float64 {
		before := logged()
		runChain(t, n, activities)
		if logged() <= before {
			t.Fatal("the log has restarted: measure fewer steps")
		}
		return (logged() - before) / (activities + 2)
	}
	costs.Check(t, "file", []costs.Figure{
		{Name: "bytes of a step", Value: least(grown), Slack: 0.1},
		{Name: "commits of 5 activities in sequence", Value: least(func() float64 {
			before := commits(store)
			runChain(t, n, 5)
			return float64(commits(store) - before)
		})},
	})
}

// A step costs the engine as many allocations as stored, and so does writing, reading and replaying an event.
func TestCostsOfEngine(t *testing.T) {
	const activities = 1_000
	n, end := onStore(t, memory.New(memory.Options{}))
	t.Cleanup(end)
	h := runChain(t, n, activities)
	step := least(func() float64 { return allocations(func() { runChain(t, n, activities) }) / activities })
	read, err := n.Store.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: h.Key(), Execution: 1, From: 1, To: 2*activities + 2})
	if err != nil {
		t.Fatal(err)
	}
	stored := read.Events
	events := make([]history.Event, len(stored))
	perEvent := func(fn func()) float64 {
		return least(func() float64 { return allocations(fn) }) / float64(len(stored))
	}
	decoded := perEvent(func() {
		for i, e := range stored {
			if events[i], err = history.Decode(e.ID, e.Data); err != nil {
				t.Fatal(err)
			}
		}
	})
	buffer := make([]byte, 0, 1<<10)
	encoded := perEvent(func() {
		for _, e := range events {
			buffer = history.Encode(buffer[:0], e)
		}
	})
	replayed := perEvent(func() { rebuild(t, h.Key(), events) })
	costs.Check(t, "engine", []costs.Figure{
		{Name: "allocations of a step", Value: step, Slack: 0.1},
		{Name: "allocations of an encoded event", Value: encoded, Slack: 0.02},
		{Name: "allocations of a decoded event", Value: decoded, Slack: 0.02},
		{Name: "allocations of a replayed event", Value: replayed, Slack: 0.02},
	})
}

// anything lets code call every function.
type anything struct{}

func (anything) Check(string, uintptr) error { return nil }

// rebuild replays a history with the code that made it.
func rebuild(t *testing.T, key provider.UUID, events []history.Event) {
	t.Helper()
	env := &replay.Env{NewKey: func(string) [16]byte { return uuid.New() }, Logger: slog.New(slog.DiscardHandler), Errors: bind.SetOf(orchestration.NewErrors()), Activities: anything{}}
	x := replay.New(env, replay.Info{ID: key.String(), Key: key, Execution: 1, Name: "Chain"}, bind.Orchestration(workload.Chain))
	defer x.Close()
	if err := x.Replay(events); err != nil {
		t.Fatal(err)
	}
}
