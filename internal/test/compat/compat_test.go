package compat

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

var record = flag.Bool("record", false, "record stores of testdata anew, with -run; only before their release")

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

// node is a runtime with a client on a store.
type node struct {
	store provider.Provider
	rt    *runtime.Runtime
	c     *client.Client
}

func open(t *testing.T, path string, reg *runtime.Registry) *node {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return openOn(t, store, reg)
}

func openOn(t *testing.T, store provider.Provider, reg *runtime.Registry) *node {
	t.Helper()
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &node{store, rt, clienttest.Of(t, rt, client.Options{})}
}

func (n *node) close(t *testing.T) {
	t.Helper()
	err := n.rt.Shutdown(context.WithoutCancel(t.Context()))
	enginetest.CheckLeases(t, n.store)
	if err := errors.Join(err, n.store.Close()); err != nil {
		t.Error(err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// until polls an instance until it is as wanted. The store sends no notification of intermediate states.
func (n *node) until(t *testing.T, id string, want func(client.Description) bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := n.c.Describe(t.Context(), id)
		if err == nil && want(d) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("instance %s: %+v, %v", id, d, err)
		}
	}
}

func TestRecordCore(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "core.db")
	n := open(t, path, coreRegistry(false))
	n.populate(t)
	n.record(t, path, "core")
}

// populate starts instances on an empty store. Each stops where its comment says.
func (n *node) populate(t *testing.T) {
	t.Helper()
	ctx, id := t.Context(), client.WithID
	length := func(want int64) func(client.Description) bool {
		return func(d client.Description) bool { return d.HistoryLength == want }
	}
	text := must[client.Handle[string]](t)
	text(client.Start(ctx, n.c, Approve, "ann", id("approve"))) // waits for its event
	n.until(t, "approve", length(6))
	text(client.Start(ctx, n.c, Family, "family", id("family"))) // waits for one child
	n.until(t, "family-child", length(6))
	n.until(t, "family", length(6))
	rounds := must[client.Handle[int]](t)(client.Start(ctx, n.c, Rounds, [2]int{}, id("rounds"))) // in its second execution
	if err := rounds.Raise(ctx, "add", 30); err != nil {
		t.Fatal(err)
	}
	n.until(t, "rounds", func(d client.Description) bool { return d.Execution == 2 && d.HistoryLength == 2 })
	must[client.Handle[int]](t)(client.Start(ctx, n.c, Queued, 41, id("queued"))) // its task is in a queue
	n.until(t, "queued", length(6))
	refused := must[client.Handle[orchestration.None]](t)(client.Start(ctx, n.c, Refused, orchestration.None{}, id("refused")))
	if _, err := refused.Wait(ctx); !errors.Is(err, errDeclined) {
		t.Fatal(err)
	}
	cleans := text(client.Start(ctx, n.c, Cleans, "cancelled", id("cancelled")))
	n.until(t, "cancelled", length(2))
	if err := cleans.Cancel(ctx, "recorded"); err != nil {
		t.Fatal(err)
	}
	if _, err := cleans.Wait(ctx); !errors.Is(err, orchestration.ErrCancelled) {
		t.Fatal(err)
	}
	killed := text(client.Start(ctx, n.c, Cleans, "terminated", id("terminated")))
	if err := killed.Terminate(ctx, "recorded"); err != nil {
		t.Fatal(err)
	}
	text(client.Start(ctx, n.c, Cleans, "waiting", id("waiting"))) // sleeps for a year
	n.until(t, "waiting", length(2))
	text(client.StartNamed[string](ctx, n.c, "Nobody", "new", id("unserved"))) // no node can run it
}

// record closes a node and keeps its store and its readable histories in testdata.
func (n *node) record(t *testing.T, path, name string) {
	t.Helper()
	n.recordHistories(t, name)
	n.close(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/"+name+".db", data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n *node) recordHistories(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile("testdata/"+name+".json", n.histories(t), 0o600); err != nil {
		t.Fatal(err)
	}
}

// histories returns all instances of the store with their current histories, as JSON.
func (n *node) histories(t *testing.T) []byte {
	t.Helper()
	type instance struct {
		ID      string                `json:"id"`
		Status  client.Status         `json:"status"`
		Blocked bool                  `json:"blocked"`
		Events  []client.HistoryEvent `json:"events"`
	}
	var all []instance
	for d, err := range n.c.All(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		i := instance{ID: d.ID, Status: d.Status, Blocked: d.Blocked != nil}
		if d.HistoryLength > 0 {
			for e, err := range n.c.History(t.Context(), d.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				e.Execution = 0 // recorded stores name no execution: it is the current one
				i.Events = append(i.Events, e)
			}
		}
		all = append(all, i)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// copied returns the path of a copy of a recorded store, which the test may change.
func copied(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every recorded store reads as it did when it was recorded.
func TestStoresRead(t *testing.T) {
	for _, name := range stores() {
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(copied(t, name+".db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			(&node{store: store, c: clienttest.New(t, store, client.Options{})}).reads(t, name)
		})
	}
}

// reads compares the histories of a store with the recorded ones.
func (n *node) reads(t *testing.T, name string) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(n.histories(t))); diff != "" {
		t.Errorf("the recorded histories read differently (-recorded +read):\n%s", diff)
	}
}

func TestCoreStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "core.db"), coreRegistry(true))
	defer n.close(t)
	n.finishes(t)
}

// finishes sends the instances of populate what they wait for.
func (n *node) finishes(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, e := range []struct {
		id, name string
		payload  any
	}{
		{"approve", "go", "bob"}, {"family-child", "go", "eve"}, {"rounds", "add", 10}, {"rounds", "add", 2},
	} {
		if err := n.c.Raise(ctx, e.id, e.name, e.payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.c.Cancel(ctx, "waiting", "enough"); err != nil {
		t.Fatal(err)
	}
	n.ends(ctx, t, map[string]string{
		"approve": `"hello ann, hello bob"`, "family": `"7 [hello ann, hello eve bob]"`, "rounds": `42`, "queued": `42`,
	})
	n.fails(ctx, t, map[string]error{
		"refused": errDeclined, "cancelled": orchestration.ErrCancelled, "waiting": orchestration.ErrCancelled,
		"terminated": orchestration.ErrTerminated,
	})
	res, err := n.store.Get(ctx, provider.GetRequest{ID: "unserved"})
	if err != nil || res.Instance.Status != provider.StatusRunning || res.Instance.Blocked != nil {
		t.Errorf("an instance that nobody can run: %+v, %v", res.Instance, err)
	}
}

// ends waits for instances and compares their outcomes, as JSON.
func (n *node) ends(ctx context.Context, t *testing.T, outcomes map[string]string) {
	t.Helper()
	for id, want := range outcomes {
		h, err := client.Lookup[any](ctx, n.c, id)
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Wait(ctx, client.OrBlocked())
		got, _ := json.Marshal(out)
		if err != nil || string(got) != want {
			t.Errorf("%s ended with %s, %v; want %s", id, got, err, want)
		}
	}
}

// fails waits for instances and wants each to end with an error.
func (n *node) fails(ctx context.Context, t *testing.T, outcomes map[string]error) {
	t.Helper()
	for id, want := range outcomes {
		h, err := client.Lookup[any](ctx, n.c, id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(ctx, client.OrBlocked()); !errors.Is(err, want) {
			t.Errorf("%s ended with %v, want %v", id, err, want)
		}
	}
}
