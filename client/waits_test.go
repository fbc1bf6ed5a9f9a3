package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// texts returns the kinds of the waits and the beginnings of their texts.
func texts(list []client.Wait) (all []string) {
	for i := range list {
		all = append(all, fmt.Sprintf("%s: %s", list[i].Kind, list[i].Text))
	}
	return all
}

// Describe says what an instance waits for.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		begin := time.Now().UTC()
		parent := w.child(w.Start(client.WithID("parent")), "child") // the child is an instance with nothing pending, once it has begun
		w.Commit(parent.Key(), func(req *provider.CommitTurnRequest) {
			req.Tasks = []provider.NewTask{
				{EventID: 10, Queue: "mail", Name: "Charge"}, {EventID: 11, Queue: "default", Name: "Ship"},
			}
			req.Timers = []provider.Timer{{
				EventID: 12, Due: provider.TimeOf(begin.Add(time.Hour)), Kind: provider.MessageKind(history.KindTimerFired),
				Payload: history.Encode(nil, history.Event{Body: &history.TimerFired{Timer: 12}}),
			}}
		})
		w.tasks("Ship", provider.TaskReport{
			Outcome: provider.TaskRetry, Attempt: 1, Delay: time.Minute, Failure: history.EncodeFailure(history.Failure{Message: "no truck\nat all"}),
		})
		grand := w.Start(client.WithID("delayed"), client.WithDelay(time.Hour))
		at := func(d time.Duration) string { return begin.Add(d).Format(time.RFC3339) }
		for id, want := range map[string][]string{
			"child": {
				`activity: activity Charge, attempt 1, queued in "mail": no node that runs is listed`,
				`activity: activity Ship, attempt 2, next try at ` + at(time.Minute) + `; the last attempt failed: no truck`,
				`timer: a timer, due at ` + at(time.Hour),
			},
			"parent":  {`child: child Child as "child", running`},
			"delayed": {`start: a node that has Checkout without a version and begins it`},
		} {
			d, err := w.Describe(t.Context(), id)
			if err != nil || strings.Join(texts(d.Waits), "\n") != strings.Join(want, "\n") {
				t.Errorf("%s waits for\n%s, want\n%s (%v)", id, strings.Join(texts(d.Waits), "\n"), strings.Join(want, "\n"), err)
			}
		}
		list, err := parent.Waits(t.Context())
		if err != nil || len(list) != 3 || list[0].EventID != 10 || !list[1].Until.Equal(begin.Add(time.Minute)) || list[2].EventID != 12 {
			t.Errorf("as data: %+v, %v", list, err)
		}
		if err := grand.Terminate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if list, err := grand.Waits(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("after the end it waits for %v, %v", texts(list), err)
		}
	})
}

func TestWaitsForNodesAndPeople(t *testing.T) {
	w := newWorld(t, client.Options{})
	fresh := w.Start(client.WithID("fresh"))
	check := func(h client.Handle[receipt], want string) {
		t.Helper()
		list, err := h.Waits(t.Context())
		if err != nil || len(list) == 0 || !strings.HasPrefix(texts(list)[0], want) {
			t.Errorf("%s waits for %q, %v: want %q", h.ID(), texts(list), err, want)
		}
	}
	check(fresh, "start: a node that has Checkout without a version")
	w.Commit(fresh.Key(), func(*provider.CommitTurnRequest) {})
	check(fresh, "event: an event, an update or a condition")
	if err := fresh.Raise(t.Context(), "e", 1); err != nil {
		t.Fatal(err)
	}
	check(fresh, "node: a node that takes its messages")
	w.hold(fresh)
	check(fresh, "release: a turn that succeeds: it is blocked (poisoned), until somebody unblocks it: lost")
	_, err := w.store.Steer(t.Context(), provider.SteerRequest{Key: fresh.Key(), Action: provider.SteerSuspend, Commit: provider.UUID(uuid.New())})
	if err != nil {
		t.Fatal(err)
	}
	check(fresh, "release: to be resumed: it is suspended")
}

// shape prints a tree as IDs in brackets.
func shape(n *client.TreeNode) string {
	text := n.ID
	for i, child := range n.Children {
		text += []string{"(", " "}[min(i, 1)] + shape(child)
	}
	if len(n.Children) > 0 {
		text += ")"
	}
	if n.More {
		text += "+"
	}
	return text
}

func TestTree(t *testing.T) {
	w := newWorld(t, client.Options{})
	parent, child, _ := w.family() // parent, child, grandchild
	for id, of := range map[string]client.Handle[receipt]{"second": parent, "grandchild-2": child} {
		if err := of.Raise(t.Context(), "more", 1); err != nil { // a turn needs a message
			t.Fatal(err)
		}
		w.child(of, id)
	}
	for limits, want := range map[client.TreeLimits]string{
		{}:         "parent(child(grandchild grandchild-2) second)",
		{Depth: 1}: "parent(child+ second)",
		{Size: 2}:  "parent(second)+",
		{Size: 3}:  "parent(child+ second)",
		{Size: 4}:  "parent(child(grandchild-2)+ second)",
		{Size: 5}:  "parent(child(grandchild grandchild-2) second)",
	} {
		tree, err := parent.Tree(t.Context(), limits)
		if err != nil || shape(tree) != want {
			t.Errorf("%+v: %s, %v, want %s", limits, shape(tree), err, want)
		}
		if limits.Size > 0 && tree.Size() > limits.Size {
			t.Errorf("%+v: the tree has %d instances", limits, tree.Size())
		}
	}
	tree, err := w.Tree(t.Context(), "child", client.TreeLimits{})
	if err != nil || tree.Size() != 3 || tree.Parent.ID != "parent" || tree.Children[0].Status != client.StatusRunning {
		t.Errorf("%+v, %v", tree, err)
	}
	for _, limits := range []client.TreeLimits{{Depth: -1}, {Depth: 101}, {Size: -1}, {Size: 10_001}} {
		if _, err := w.Tree(t.Context(), "child", limits); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	if _, err := w.Tree(t.Context(), "nobody", client.TreeLimits{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
}

func TestResult(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	if _, err := h.Result(t.Context()); !errors.Is(err, client.ErrNotEnded) {
		t.Errorf("while it runs: %v", err)
	}
	w.Complete(h.Key(), `{"Number": 7}`)
	if r, err := h.Result(t.Context()); err != nil || r.Number != 7 {
		t.Errorf("typed: %+v, %v", r, err)
	}
	if raw, err := w.Result(t.Context(), "a"); err != nil || string(raw) != `{"Number": 7}` {
		t.Errorf("raw: %s, %v", raw, err)
	}
	failed := w.Start(client.WithID("b"))
	w.End(failed.Key(), provider.StatusFailed, history.Outcome{Failure: &history.Failure{Message: "no tea"}})
	if _, err := w.Result(t.Context(), "b"); !errors.Is(err, client.ErrFailed) || !strings.Contains(err.Error(), "no tea") {
		t.Errorf("failed: %v", err)
	}
	other := client.HandleOf[[]int](w.Client, "a", h.Key())
	if _, err := other.Result(t.Context()); !errors.Is(err, orchestration.ErrPayload) {
		t.Errorf("as another type: %v", err)
	}
}

func TestCompactHistory(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	event := func(id int64, after time.Duration, kind string, ref int64) client.HistoryEvent {
		return client.HistoryEvent{ID: id, Time: at.Add(after), Kind: kind, Ref: ref, Execution: 1}
	}
	steps := client.CompactHistory([]client.HistoryEvent{
		event(1, 0, "ExecutionStarted", 0), event(2, 0, "ActivityScheduled", 0), event(3, 0, "TimerCreated", 0), event(4, 0, "ChildStarted", 0),
		event(5, time.Second, "ActivityFailed", 2), event(6, 2*time.Second, "TimerCancelled", 3), event(7, 2*time.Second, "ActivityCancelRequested", 9),
		event(8, 3*time.Second, "UpdateReceived", 0), event(9, 3*time.Second, "UpdateAccepted", 8), event(10, 4*time.Second, "UpdateCompleted", 8),
		event(11, 4*time.Second, "ChildCompleted", 99), event(12, 4*time.Second, "ExecutionOpened", 0),
		{ID: 5, Kind: "TimerFired", Ref: 3, Execution: 2}, // of another execution
	})
	var got []string
	for i := range steps {
		s := &steps[i]
		end := int64(0)
		if s.End != nil {
			end = s.End.ID
		}
		got = append(got, fmt.Sprintf("%s-%d %v %v", s.Kind, end, s.Took, s.Pending()))
	}
	want := []string{
		"ExecutionStarted-0 0s false", "ActivityScheduled-5 1s false", "TimerCreated-6 2s false", "ChildStarted-0 0s true",
		"ActivityCancelRequested-0 0s false", "UpdateReceived-10 1s false", "ChildCompleted-0 0s false", "TimerFired-0 0s false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text, err := json.Marshal(steps[1])
	if err != nil || !strings.Contains(string(text), `"kind":"ActivityScheduled"`) || !strings.Contains(string(text), `"end":{`) {
		t.Errorf("%s, %v", text, err)
	}
}

// An instance whose ID cannot be a segment of a path is reached by its key, and so is one that another has replaced.
func TestHazard88_AllReadsGoByKey(t *testing.T) {
	w := newWorld(t, client.Options{})
	for _, id := range []string{".", "..", "a/../b", "%2e%2e"} {
		old := w.Start(client.WithID(id))
		w.Complete(old.Key(), `{"Number": 1}`)
		w.Start(client.WithID(id), client.WithIDPolicy(client.ReplaceEnded))
		h, err := client.LookupKey[receipt](t.Context(), w.Client, old.Key())
		if err != nil || h.ID() != id || h != old {
			t.Fatalf("%q: handle %v, %v", id, h, err)
		}
		d, err := h.Describe(t.Context())
		if err != nil || d.Key != old.Key() || d.Status != client.StatusCompleted {
			t.Errorf("%q is described as %+v, %v", id, d, err)
		}
		if r, err := h.Result(t.Context()); err != nil || r.Number != 1 {
			t.Errorf("%q: result %v, %v", id, r, err)
		}
		if page, err := h.HistoryPage(t.Context(), client.HistoryRange{}); err != nil || page.Status != client.StatusCompleted {
			t.Errorf("%q: history %+v, %v", id, page, err)
		}
		if tree, err := h.Tree(t.Context(), client.TreeLimits{}); err != nil || tree.Key != old.Key() {
			t.Errorf("%q: tree %+v, %v", id, tree, err)
		}
		if d, _, err := h.Follow(t.Context(), ""); err != nil || d.Key != old.Key() {
			t.Errorf("%q: followed %+v, %v", id, d, err)
		}
		if err := h.Raise(t.Context(), "e", 1); !errors.Is(err, client.ErrEnded) {
			t.Errorf("%q: an act by key reached another instance: %v", id, err)
		}
		for _, err := range operate.New(w.Client).DeadLetters(t.Context(), operate.DeadLetterFilter{Key: h.Key()}) {
			t.Errorf("%q: dead letter %v", id, err)
		}
	}
	if _, err := client.LookupKey[receipt](t.Context(), w.Client, provider.UUID{1}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown key: %v", err)
	}
	if _, err := client.LookupKey[receipt](t.Context(), w.Client, provider.UUID{}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("zero key: %v", err)
	}
}
