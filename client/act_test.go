package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// begin makes the first turn of an instance, and ends the instance if told so.
func (w *world) begin(h client.Handle[receipt], end bool) {
	w.t.Helper()
	w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
		if end {
			req.Status, req.Result = provider.StatusCompleted, history.EncodeOutcome(history.Outcome{Output: []byte(`{"Number":1}`)})
		}
	})
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("x"))
	ctx := t.Context()
	for range 2 { // a second one changes nothing
		if err := h.Suspend(ctx, "look first"); err != nil {
			t.Fatal(err)
		}
	}
	if i := w.Get(h.Key()); i.Status != provider.StatusSuspended {
		t.Fatalf("%v", i.Status)
	}
	if err := w.Resume(ctx, "x", "go on", client.Repeatable("r")); err != nil {
		t.Fatal(err)
	}
	if err := w.Suspend(ctx, "x", ""); err != nil {
		t.Fatal(err)
	}
	// The request was made: a late repeat of it does not undo what came after.
	if err := w.Resume(ctx, "x", "go on", client.Repeatable("r")); err != nil {
		t.Fatal(err)
	}
	if i := w.Get(h.Key()); i.Status != provider.StatusSuspended {
		t.Errorf("a repeat has resumed it: %v", i.Status)
	}
	if err := h.Terminate(ctx, ""); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"suspend": h.Suspend(ctx, ""), "resume": h.Resume(ctx, "")} {
		if !errors.Is(err, client.ErrEnded) {
			t.Errorf("%s of an ended one: %v", name, err)
		}
	}
	if err := w.Suspend(ctx, "nobody", ""); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := h.Suspend(ctx, strings.Repeat("r", 5000)); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestSuspendWithUnknownOutcome(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Steer}, Kind: faulty.After, First: 1})
	if err := h.Suspend(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if i := w.Get(h.Key()); i.Status != provider.StatusSuspended {
		t.Errorf("%v", i.Status)
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t, client.Options{})
	ctx := t.Context()
	h := w.Start(client.WithID("x"))
	if _, err := h.Restart(ctx, ""); !errors.Is(err, client.ErrExists) {
		t.Errorf("a running one: %v", err)
	}
	if _, err := h.Restart(ctx, "", client.RestartAs("y")); !errors.Is(err, client.ErrConflict) {
		t.Errorf("one that has not begun: %v", err)
	}
	w.begin(h, false)
	other, err := h.Restart(ctx, "beside it", client.RestartAs("y"))
	if err != nil || other.ID() != "y" {
		t.Fatalf("%v, %v", other, err)
	}
	w.begin(other, true)
	if err := h.Terminate(ctx, ""); err != nil {
		t.Fatal(err)
	}
	again, err := h.Restart(ctx, "once more", client.Repeatable("r"))
	if err != nil || again.ID() != "x" || again.Key() == h.Key() {
		t.Fatalf("%v, %v", again, err)
	}
	repeated, err := h.Restart(ctx, "once more", client.Repeatable("r"))
	if err != nil || repeated != again {
		t.Errorf("a repeat: %v, %v", repeated, err)
	}
	edited, err := h.Restart(ctx, "with a correction", client.RestartAs("edited"), client.RestartWithInput(map[string]any{"edited": true}))
	if err != nil {
		t.Fatal(err)
	}
	if began := w.Inbox(edited.Key())[0].(*history.ExecutionStarted); string(began.Input) != `{"edited":true}` || began.Name != "Checkout" {
		t.Errorf("the edited input: %+v", began)
	}
	if _, err := h.Restart(ctx, "", client.RestartAs("z"), client.RestartWithInput(make(chan int))); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an input that cannot be encoded: %v", err)
	}
	byID, err := w.Restart(ctx, "x", "once more", client.Repeatable("r"))
	if err != nil || byID.Key() != again.Key() {
		t.Errorf("a repeat by ID: %v, %v", byID, err)
	}
	for _, made := range []client.Handle[receipt]{other, again} {
		i := w.Get(made.Key())
		if i.Name != "Checkout" || !i.Parent.Key.IsZero() {
			t.Errorf("%+v", i)
		}
	}
	started := w.Inbox(again.Key())[0].(*history.ExecutionStarted)
	if string(started.Input) != `{"Item":"tea"}` || started.CodeVersion != "" {
		t.Errorf("%+v", started)
	}
	// The ID names the new one by now: what was shown is no longer there.
	if _, err := h.Restart(ctx, ""); !errors.Is(err, client.ErrSuperseded) {
		t.Errorf("a page that is out of date: %v", err)
	}
	if _, err := h.Restart(ctx, "", client.RestartAs("perdure/x")); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an ID of perdure itself: %v", err)
	}
	if _, err := w.Restart(ctx, "y", "", client.RestartAs("x")); !errors.Is(err, client.ErrExists) {
		t.Errorf("an ID in use: %v", err)
	}
}

// meddled calls a function before it reads a history: between the look of a restart and its start.
type meddled struct {
	hidden

	before func()
}

func (m *meddled) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	m.before()
	return m.Full.ReadHistory(ctx, req)
}

// Two people restart an instance at once, and the new one ends before the second of them starts another: that would run it twice.
func TestHazard88_RestartReplacesWhatWasShown(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("x"))
	w.begin(h, true)
	store := &meddled{hidden: hidden{provider.FullOf(w.store)}}
	late := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	var first client.Handle[receipt]
	store.before = func() {
		store.before = func() {}
		var err error
		if first, err = h.Restart(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		w.begin(first, true)
	}
	_, err := client.HandleOf[receipt](late, "x", h.Key()).Restart(t.Context(), "")
	if !errors.Is(err, client.ErrSuperseded) || !strings.Contains(err.Error(), first.Key().String()) {
		t.Errorf("the second restart: %v", err)
	}
	if now, err := client.Lookup[receipt](t.Context(), w.Client, "x"); err != nil || now.Key() != first.Key() {
		t.Errorf("the ID names %v, %v", now, err)
	}
}

// A page shows one instance, and its acts reach that one or none: not the one that has its ID by now.
func TestHazard88_ActsGoByKey(t *testing.T) {
	w := newWorld(t, client.Options{})
	ctx := t.Context()
	shown := w.Start(client.WithID("x"))
	w.begin(shown, true)
	next := w.Start(client.WithID("x"), client.WithIDPolicy(client.ReplaceEnded))
	before := w.Get(next.Key()).Version
	page := client.HandleOf[json.RawMessage](w.Client, "x", shown.Key())
	_, restarted := page.Restart(ctx, "")
	for name, err := range map[string]error{
		"suspend": page.Suspend(ctx, ""), "resume": page.Resume(ctx, ""), "terminate": page.Terminate(ctx, ""), "cancel": page.Cancel(ctx, ""),
		"unblock": page.Unblock(ctx), "restart": restarted,
	} {
		if !errors.Is(err, client.ErrEnded) && !errors.Is(err, client.ErrSuperseded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if i := w.Get(next.Key()); i.Status != provider.StatusRunning || i.Version != before || len(w.Inbox(next.Key())) != 1 {
		t.Errorf("an act has reached the successor: %+v", i)
	}
}

func TestStartMany(t *testing.T) {
	w := newWorld(t, client.Options{})
	starts := make([]client.ManyStart[order], 500)
	for i := range starts {
		starts[i] = client.ManyStart[order]{Input: order{Item: fmt.Sprint(i)}, Options: []client.StartOption{client.WithID(fmt.Sprintf("o-%d", i/2*2))}}
	}
	starts[499].Options = []client.StartOption{provider.Tx{}}
	results, err := client.StartMany(t.Context(), w.Client, Checkout, starts)
	if err != nil || len(results) != len(starts) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	stored := 0
	for i, r := range results {
		switch {
		case i == 499:
			if !errors.Is(r.Err, client.ErrInvalid) {
				t.Errorf("a start of a transaction: %v", r.Err)
			}
		case r.Err == nil:
			stored++
			if w.Get(r.Handle.Key()).ID != fmt.Sprintf("o-%d", i/2*2) {
				t.Errorf("start %d has the handle of %s", i, r.Handle.ID())
			}
		case !errors.Is(r.Err, client.ErrExists):
			t.Errorf("start %d: %v", i, r.Err)
		}
	}
	if stored != 250 {
		t.Errorf("%d were started", stored)
	}
	if results, err := client.StartManyNamed[receipt](t.Context(), w.Client, "Checkout", nil); err != nil || len(results) != 0 {
		t.Errorf("%v, %v", results, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err = client.StartMany(ctx, w.Client, Checkout, starts[:100])
	if err != nil || !errors.Is(results[99].Err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := client.StartMany[order, receipt](t.Context(), nil, Checkout, starts); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// Each act of this file needs the right of an operator, and is in the audit.
func TestActsOnInstancesAreAudited(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("x"))
	w.begin(h, true)
	ctx := t.Context()
	calls := func(c *client.Client) map[client.Act]error {
		_, restarted := c.Restart(ctx, "x", "why")
		_, queue := operate.New(c).PauseQueue(ctx, "mail", "why", operate.ConfirmWithin(0))
		_, node := operate.New(c).DrainNode(ctx, "nobody", "why")
		ref := client.ActivityRef{Execution: 1, EventID: 2, Attempt: 1}
		return map[client.Act]error{
			client.ActRestart: restarted, client.ActSuspend: c.Suspend(ctx, "x", "why"), client.ActResume: c.Resume(ctx, "x", "why"),
			client.ActActivity: client.HandleOf[int](c, "x", h.Key()).Activity(ref).Retry(ctx, "why"), client.ActQueue: queue, client.ActNode: node,
		}
	}
	for act, err := range calls(w.AsRole(client.RoleViewer)) {
		if !errors.Is(err, client.ErrForbidden) {
			t.Errorf("%s as viewer: %v", act, err)
		}
	}
	if got := w.audited(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	operated := calls(w.AsRole(client.RoleOperator))
	found := map[client.Act]operate.AuditEntry{}
	for _, e := range w.audited() {
		found[e.Act] = e
	}
	for act, err := range operated {
		e, ok := found[act]
		if act == client.ActNode { // it names no node that there is
			if !errors.Is(err, client.ErrNotFound) {
				t.Errorf("%v", err)
			}
			continue
		}
		if !ok || !strings.Contains(e.Detail, "why") || (err == nil) != (e.Outcome == "done") {
			t.Errorf("%s: %v in the audit: %+v", act, err, e)
		}
	}
}
