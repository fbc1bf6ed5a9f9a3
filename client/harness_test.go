package client_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

type order struct{ Item string }

type receipt struct{ Number int }

// Checkout is an orchestration; the tests play the engine's part themselves.
func Checkout(*orchestration.Context, order) (receipt, error) { return receipt{}, nil }

// world is a store, a client of it, and the faults between them.
type world struct {
	*client.Client

	t     *testing.T
	store *memory.Provider
	plan  *faulty.Plan
}

func newWorld(t *testing.T, opts client.Options) *world {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	plan := faulty.NewPlan(1)
	return &world{Client: clienttest.New(t, faulty.Wrap(store, plan), opts), t: t, store: store, plan: plan}
}

func (w *world) start(opts ...client.StartOption) client.Handle[receipt] {
	w.t.Helper()
	h, err := client.Start(w.t.Context(), w.Client, Checkout, order{Item: "tea"}, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// get reads the row behind the faults.
func (w *world) get(key provider.UUID) provider.Instance {
	w.t.Helper()
	res, err := w.store.Get(w.t.Context(), provider.GetRequest{Key: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Instance
}

// lease leases all turns and returns that of the instance with that key.
func (w *world) lease(key provider.UUID) (turn provider.Turn, token provider.UUID, all []provider.TurnRelease) {
	w.t.Helper()
	token = provider.UUID(uuid.New())
	res, err := w.store.FetchTurns(w.t.Context(), provider.FetchTurnsRequest{
		Owner: "test", Token: token, Lease: time.Minute, Capabilities: []provider.Capability{{Name: "Checkout"}, {Name: "Child"}},
		EngineLevel: replay.EngineLevel, Max: 100,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, leased := range res.Turns {
		all = append(all, provider.TurnRelease{Key: leased.Instance.Key, Token: token})
		if leased.Instance.Key == key {
			turn = leased
		}
	}
	if turn.Instance.Key != key {
		w.t.Fatalf("no turn for %s", key)
	}
	return turn, token, all
}

// fetch returns the turn of the instance with that key and leaves no lease.
func (w *world) fetch(key provider.UUID) provider.Turn {
	w.t.Helper()
	turn, _, all := w.lease(key)
	if _, err := w.store.ReleaseTurns(w.t.Context(), provider.ReleaseTurnsRequest{Items: all}); err != nil {
		w.t.Fatal(err)
	}
	return turn
}

// inbox returns the bodies of the messages that wait and are visible.
func (w *world) inbox(key provider.UUID) []history.Body {
	w.t.Helper()
	turn := w.fetch(key)
	bodies := make([]history.Body, 0, len(turn.Messages))
	for _, m := range turn.Messages {
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			w.t.Fatal(err)
		}
		if provider.MessageKind(e.Body.Kind()) != m.Kind {
			w.t.Errorf("a %v message has kind %d", e.Body.Kind(), m.Kind)
		}
		bodies = append(bodies, e.Body)
	}
	return bodies
}

// commit consumes all that waits and makes it history, followed by the bodies.
func (w *world) commit(key provider.UUID, change func(*provider.CommitTurnRequest), bodies ...history.Body) {
	w.t.Helper()
	turn := w.fetch(key)
	req := provider.CommitTurnRequest{
		Key: key, Execution: turn.Instance.Execution, Expected: turn.Instance.Version, Length: turn.Instance.HistoryLength,
		Commit: provider.UUID(uuid.New()), Status: provider.StatusRunning,
	}
	for _, m := range turn.Messages {
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			w.t.Fatal(err)
		}
		e.At = 1_000_000
		req.Consumed = append(req.Consumed, m.ID)
		req.Events = append(req.Events, history.Encode(nil, e))
	}
	for _, b := range bodies {
		req.Events = append(req.Events, history.Encode(nil, history.Event{Body: b}))
	}
	change(&req)
	if _, err := w.store.CommitTurn(w.t.Context(), req); err != nil {
		w.t.Fatal(err)
	}
}

// end closes an instance.
func (w *world) end(key provider.UUID, status provider.Status, o history.Outcome) {
	w.t.Helper()
	w.commit(key, func(req *provider.CommitTurnRequest) {
		req.Status, req.Result = status, history.EncodeOutcome(o)
	}, &history.ExecutionCompleted{Output: o.Output})
}

func (w *world) complete(key provider.UUID, output string) {
	w.t.Helper()
	w.end(key, provider.StatusCompleted, history.Outcome{Output: []byte(output)})
}

// lose makes the storage store the first n calls of op and lose the returns.
func (w *world) lose(op faulty.Op, n int) {
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{op}, First: n, Kind: faulty.After})
}

// want checks an error against sentinels and against what its text must say.
func want(t *testing.T, err error, text string, sentinels ...error) {
	t.Helper()
	for _, s := range sentinels {
		if !errors.Is(err, s) {
			t.Errorf("error %v is not %v", err, s)
		}
	}
	if err == nil || err.Error() != text {
		t.Errorf("got error\n\t%v, want\n\t%s", err, text)
	}
}

// hidden is a store that only has the methods of the contract.
type hidden struct{ *provider.Full }

// creates counts calls of Create.
type creates struct {
	hidden

	requests []provider.CreateRequest
}

func (c *creates) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	c.requests = append(c.requests, req)
	return c.Provider.Create(ctx, req)
}
