package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// counted counts the calls of Record, and fails them on demand.
type counted struct {
	*provider.Full

	records, puts atomic.Int64
	fail          atomic.Bool
}

func (c *counted) Unwrap() provider.Provider { return c.Full }

var errAway = errors.New("the store is away")

func (c *counted) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	c.records.Add(1)
	if req.Action == provider.RecordPut {
		c.puts.Add(1)
	}
	if c.fail.Load() {
		return provider.RecordResult{}, &provider.Error{Op: "record", Retryable: true, Outcome: provider.OutcomeNothing, Err: errAway}
	}
	return c.Full.Record(ctx, req)
}

// bubble runs a test with a store on virtual time.
func bubble(t *testing.T, test func(t *testing.T, store *counted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Full: provider.FullOf(memory.New(memory.Options{}))}
		defer func() { _ = store.Close() }()
		test(t, store)
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a bubble

// full returns the calls of a store.
func full(store provider.Provider) *provider.Full { return provider.FullOf(store) }

// create stores an instance of an engine level.
func create(t *testing.T, store provider.Provider, id string, level int64) {
	t.Helper()
	_, err := store.Create(t.Context(), provider.CreateRequest{
		ID: id, Key: provider.NewKey(id), Commit: provider.UUID(uuid.New()), Name: "main", EngineLevel: level,
		Message: provider.NewMessage{Kind: 1, Payload: []byte("start")},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// begin commits the first turn of an instance, as a node does.
func begin(t *testing.T, store provider.Provider) {
	t.Helper()
	token := provider.UUID(uuid.New())
	res, err := store.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "old", Token: token, Lease: time.Minute, Capabilities: []provider.Capability{{Name: "main"}}, EngineLevel: 9, Max: 1,
	})
	if err != nil || len(res.Turns) != 1 {
		t.Fatalf("%d turns, %v", len(res.Turns), err)
	}
	i := res.Turns[0].Instance
	_, err = store.CommitTurn(t.Context(), provider.CommitTurnRequest{
		Key: i.Key, Lease: token, Execution: 1, Expected: i.Version, Commit: provider.UUID(uuid.New()), Consumed: []int64{res.Turns[0].Messages[0].ID},
		Events: [][]byte{[]byte("started")}, Status: provider.StatusRunning,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A node that holds a turn has used the store, although it has committed nothing.
func TestStoreWithALeaseKeepsItsLevel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		create(t, store, "a", 4)
		_, err := store.FetchTurns(t.Context(), provider.FetchTurnsRequest{
			Owner: "old", Token: provider.UUID(uuid.New()), Lease: time.Minute, Capabilities: []provider.Capability{{Name: "main"}}, EngineLevel: 9, Max: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := open(t, store, 9).Allowed(); got != upgrade.Unrecorded {
			t.Errorf("a node may use level %d, want %d", got, upgrade.Unrecorded)
		}
	})
}

// open returns the level of a store for a node.
func open(t *testing.T, store provider.Provider, own int64) *upgrade.Level {
	t.Helper()
	l := upgrade.New(full(store), own)
	if err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// The first node on an empty store allows the newest level. The next node finds the record.
func TestEmptyStoreStartsAtTheNewestLevel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		if got := open(t, store, 9).Allowed(); got != 9 {
			t.Errorf("the first node may use level %d, want 9", got)
		}
		create(t, store, "a", 9)
		for own, want := range map[int64]int64{9: 9, 7: 7, 12: 9} {
			if got := open(t, store, own).Allowed(); got != want {
				t.Errorf("a node of level %d may use level %d, want %d", own, got, want)
			}
		}
	})
}

// A client may have stored starts before the first node came, but no more than a few.
func TestUnbegunStoreStartsAtTheNewestLevel(t *testing.T) {
	t.Parallel()
	for starts, want := range map[int]int64{1: 9, 99: 9, 101: upgrade.Unrecorded} {
		bubble(t, func(t *testing.T, store *counted) {
			for n := range starts {
				create(t, store, fmt.Sprint("i", n), 4)
			}
			if got := open(t, store, 9).Allowed(); got != want {
				t.Errorf("after %d starts the first node may use level %d, want %d", starts, got, want)
			}
		})
	}
}

// An operator may have suspended or terminated such an instance. A node that has begun one may have been of an older release.
func TestUnbegunStoreMayHaveSteeredInstances(t *testing.T) {
	t.Parallel()
	terminated := history.Encode(nil, history.Event{Body: &history.ExecutionTerminated{}})
	for _, steer := range []provider.SteerRequest{{Action: provider.SteerSuspend}, {Action: provider.SteerTerminate, Event: terminated}} {
		for begun, want := range map[bool]int64{false: 9, true: upgrade.Unrecorded} {
			bubble(t, func(t *testing.T, store *counted) {
				create(t, store, "a", 4)
				if begun {
					begin(t, store)
				}
				steer.ID, steer.Commit = "a", provider.UUID(uuid.New())
				if _, err := store.Steer(t.Context(), steer); err != nil {
					t.Fatal(err)
				}
				if got := open(t, store, 9).Allowed(); got != want {
					t.Errorf("after action %v, begun %t, the first node may use level %d, want %d", steer.Action, begun, got, want)
				}
			})
		}
	}
}

// A store with data and without a record allows what releases before the record can run. No node changes that.
func TestHazard80_AStoreWithDataKeepsItsLevel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		create(t, store, "a", 4)
		begin(t, store)
		for range 2 {
			if got := open(t, store, 9).Allowed(); got != upgrade.Unrecorded {
				t.Errorf("a node may use level %d, want %d", got, upgrade.Unrecorded)
			}
		}
		if n := store.puts.Load(); n != 0 {
			t.Errorf("nodes wrote %d records, want none", n)
		}
		// Time alone allows nothing.
		l := upgrade.New(full(store), 9)
		for range 3 {
			pass(48 * time.Hour)
			if got := l.Current(t.Context()); got != upgrade.Unrecorded {
				t.Errorf("after days a client may use level %d", got)
			}
		}
	})
}

// A process reads the record once a minute at most, on use, and never again once the store allows all that it can use.
func TestReadsOnceAMinute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		create(t, store, "a", 4)
		l := upgrade.New(full(store), 9)
		reads := func(what string, want int64) {
			t.Helper()
			before := store.records.Load()
			for range 5 {
				l.Current(t.Context())
			}
			if got := store.records.Load() - before; got != want {
				t.Errorf("%s: %d reads, want %d", what, got, want)
			}
		}
		reads("first use", 1)
		pass(59 * time.Second)
		reads("within a minute", 0)
		pass(time.Second)
		store.fail.Store(true)
		reads("the store is away", 1)
		store.fail.Store(false)
		if _, _, err := upgrade.Finish(t.Context(), full(store), 9, false); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		reads("the upgrade is finished", 1)
		if l.Allowed() != 9 {
			t.Errorf("level %d, want 9", l.Allowed())
		}
		pass(time.Hour)
		reads("nothing newer can come", 0)
	})
}

// bare is a store with the core alone.
type bare struct{ provider.Provider }

// A store that keeps no records allows the level of before for ever, and lists no nodes.
func TestStoreWithoutRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		defer func() { _ = store.Close() }()
		l := open(t, bare{store}, 9)
		m, err := upgrade.Join(t.Context(), l, "node", nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Run(t.Context()) // returns at once: there is nothing to do
		if got := l.Current(t.Context()); got != upgrade.Unrecorded {
			t.Errorf("level %d, want %d", got, upgrade.Unrecorded)
		}
		if _, _, err := upgrade.Nodes(t.Context(), full(bare{store})); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("listing nodes: %v, want ErrUnsupported", err)
		}
		if _, _, err := upgrade.Finish(t.Context(), full(bare{store}), 9, true); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("finishing: %v, want ErrUnsupported", err)
		}
	})
}
