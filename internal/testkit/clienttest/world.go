package clienttest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

// Order is the input of Checkout.
type Order struct{ Item string }

// Receipt is the output of Checkout.
type Receipt struct{ Number int }

// Checkout is an orchestration that no node runs: the methods of World play the engine's part.
func Checkout(*orchestration.Context, Order) (Receipt, error) { return Receipt{}, nil }

// World is a store in memory, a client of it, and the faults between them.
type World struct {
	*client.Client

	T     *testing.T
	Store *memory.Provider
	Plan  *faulty.Plan
}

// NewWorld makes a World. Its client logs nothing unless the options say so.
func NewWorld(t *testing.T, opts client.Options) *World {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	plan := faulty.NewPlan(1)
	return &World{Client: New(t, faulty.Wrap(store, plan), opts), T: t, Store: store, Plan: plan}
}

// Start starts an instance of Checkout.
func (w *World) Start(opts ...client.StartOption) client.Handle[Receipt] {
	w.T.Helper()
	h, err := client.Start(w.T.Context(), w.Client, Checkout, Order{Item: "tea"}, opts...)
	if err != nil {
		w.T.Fatal(err)
	}
	return h
}

// Get reads the row behind the faults.
func (w *World) Get(key provider.UUID) provider.Instance {
	w.T.Helper()
	res, err := w.Store.Get(w.T.Context(), provider.GetRequest{Key: key})
	if err != nil {
		w.T.Fatal(err)
	}
	return res.Instance
}

// Lease leases all turns and returns that of the instance with that key.
func (w *World) Lease(key provider.UUID) (turn provider.Turn, token provider.UUID, all []provider.TurnRelease) {
	w.T.Helper()
	token = provider.UUID(uuid.New())
	res, err := w.Store.FetchTurns(w.T.Context(), provider.FetchTurnsRequest{
		Owner: "test", Token: token, Lease: time.Minute, Capabilities: []provider.Capability{{Name: "Checkout"}, {Name: "Child"}},
		EngineLevel: replay.EngineLevel, Max: 100,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, leased := range res.Turns {
		all = append(all, provider.TurnRelease{Key: leased.Instance.Key, Token: token})
		if leased.Instance.Key == key {
			turn = leased
		}
	}
	if turn.Instance.Key != key {
		w.T.Fatalf("no turn for %s", key)
	}
	return turn, token, all
}

// Fetch returns the turn of the instance with that key and leaves no lease.
func (w *World) Fetch(key provider.UUID) provider.Turn {
	w.T.Helper()
	turn, _, all := w.Lease(key)
	if _, err := w.Store.ReleaseTurns(w.T.Context(), provider.ReleaseTurnsRequest{Items: all}); err != nil {
		w.T.Fatal(err)
	}
	return turn
}

// Inbox returns the bodies of the messages that wait and are visible.
func (w *World) Inbox(key provider.UUID) []history.Body {
	w.T.Helper()
	turn := w.Fetch(key)
	bodies := make([]history.Body, 0, len(turn.Messages))
	for _, m := range turn.Messages {
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			w.T.Fatal(err)
		}
		if provider.MessageKind(e.Body.Kind()) != m.Kind {
			w.T.Errorf("a %v message has kind %d", e.Body.Kind(), m.Kind)
		}
		bodies = append(bodies, e.Body)
	}
	return bodies
}

// Commit consumes all that waits and makes it history, followed by the bodies.
func (w *World) Commit(key provider.UUID, change func(*provider.CommitTurnRequest), bodies ...history.Body) {
	w.T.Helper()
	turn := w.Fetch(key)
	req := provider.CommitTurnRequest{
		Key: key, Execution: turn.Instance.Execution, Expected: turn.Instance.Version, Length: turn.Instance.HistoryLength,
		Commit: provider.UUID(uuid.New()), Status: provider.StatusRunning,
	}
	for _, m := range turn.Messages {
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			w.T.Fatal(err)
		}
		e.At = 1_000_000
		req.Consumed = append(req.Consumed, m.ID)
		req.Events = append(req.Events, history.Encode(nil, e))
	}
	for _, b := range bodies {
		req.Events = append(req.Events, history.Encode(nil, history.Event{Body: b}))
	}
	change(&req)
	if _, err := w.Store.CommitTurn(w.T.Context(), req); err != nil {
		w.T.Fatal(err)
	}
}

// End closes an instance.
func (w *World) End(key provider.UUID, status provider.Status, o history.Outcome) {
	w.T.Helper()
	w.Commit(key, func(req *provider.CommitTurnRequest) {
		req.Status, req.Result = status, history.EncodeOutcome(o)
	}, &history.ExecutionCompleted{Output: o.Output})
}

// Complete ends an instance with an output.
func (w *World) Complete(key provider.UUID, output string) {
	w.T.Helper()
	w.End(key, provider.StatusCompleted, history.Outcome{Output: []byte(output)})
}

// Lose makes the storage store the first n calls of op and lose the returns.
func (w *World) Lose(op faulty.Op, n int) {
	w.Plan.Add(faulty.Rule{Ops: []faulty.Op{op}, First: n, Kind: faulty.After})
}

// AsRole returns the world's client in the name of a principal.
func (w *World) AsRole(role client.Role) *client.Client {
	w.T.Helper()
	c, err := w.As(client.Principal{Name: "ann", Role: role})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// Fail makes the storage fail each call of op.
func (w *World) Fail(op faulty.Op) {
	w.Plan.Add(faulty.Rule{Ops: []faulty.Op{op}, Kind: faulty.Before})
}

// SystemInstance asks for an instance of perdure itself.
func SystemInstance() provider.CreateRequest {
	started := history.Event{Body: &history.ExecutionStarted{Name: "perdure.test", Settings: replay.SettingsAt(replay.EngineLevel)}}
	return provider.CreateRequest{
		ID: "perdure/x", Key: provider.NewKey("perdure/x"), Commit: provider.UUID(uuid.New()), Name: "perdure.test", EngineLevel: replay.LowestLevel,
		Message: provider.NewMessage{Kind: provider.MessageKind(history.KindExecutionStarted), Payload: history.Encode(nil, started)},
	}
}
