package client_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

type approval struct{ By string }

func TestRaiseAndCancel(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	if err := errors.Join(
		h.Raise(t.Context(), "approval", approval{By: "ann"}),
		w.Raise(t.Context(), "a", "note", nil, client.WithRequestID("r1")),
		h.Cancel(t.Context(), "changed my mind"),
		w.Cancel(t.Context(), "a", ""),
	); err != nil {
		t.Fatal(err)
	}
	inbox := w.Inbox(h.Key())[1:]
	first, second := inbox[0].(*history.EventReceived), inbox[1].(*history.EventReceived)
	if first.Name != "approval" || string(first.Payload) != `{"By":"ann"}` || first.RequestID == "" {
		t.Errorf("got %+v", first)
	}
	if second.Name != "note" || string(second.Payload) != "null" || second.RequestID != "r1" {
		t.Errorf("got %+v", second)
	}
	third, fourth := inbox[2].(*history.CancelRequested), inbox[3].(*history.CancelRequested)
	if third.Reason != "changed my mind" || third.RequestID == "" || fourth.Reason != "" || fourth.RequestID == third.RequestID {
		t.Errorf("got %+v and %+v", third, fourth)
	}
}

// sum adds up the events that reach the code until it is cancelled.
func sum(ctx *orchestration.Context, _ order) (int, error) {
	total := 0
	for ctx.Err() == nil {
		n, _ := orchestration.Events[int](ctx, "add").Receive(ctx)
		total += n
	}
	return total, nil
}

func TestRaiseUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start()
		w.Lose(faulty.Send, 3)
		if err := h.Raise(t.Context(), "add", 1); err != nil {
			t.Fatal(err)
		}
		if err := h.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		inbox := w.Inbox(h.Key())
		if len(inbox) != 6 { // start, the event four times, the cancel request
			t.Fatalf("inbox has %d messages", len(inbox))
		}
		// The engine handles one of them.
		x := replay.New(&replay.Env{Logger: slog.New(slog.DiscardHandler)}, replay.Info{}, bind.Orchestration(sum))
		applied := 0
		for _, body := range inbox {
			ok, err := x.Deliver(history.Event{Body: body})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				applied++
			}
		}
		if turn := x.Turn(); applied != 3 || turn.End == nil || string(turn.End.Output) != "1" {
			t.Errorf("%d messages applied, end %+v", applied, turn.End)
		}
	})
}

func TestSendHappened(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	w.plan.Add(faulty.Rule{
		Ops: []faulty.Op{faulty.Send, faulty.Steer}, First: 2, Kind: faulty.After,
		Err: &provider.Error{Op: "send", Outcome: provider.OutcomeHappened, Err: faulty.ErrInjected},
	})
	if err := h.Raise(t.Context(), "add", 1); err != nil {
		t.Error(err)
	}
	if n := len(w.Inbox(h.Key())); n != 2 {
		t.Errorf("inbox has %d messages", n)
	}
	if err := h.Terminate(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

func TestSendToEnded(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("order-42"))
	w.Complete(h.Key(), `{}`)
	text := `raising event "approval" to instance "order-42": instance has ended (Completed): start a new one or use another ID`
	want(t, h.Raise(t.Context(), "approval", 1), text, client.ErrEnded)
	want(t, w.Raise(t.Context(), "order-42", "approval", 1), text, client.ErrEnded)
	want(t, h.Cancel(t.Context(), ""),
		`cancelling instance "order-42": instance has ended (Completed): start a new one or use another ID`, client.ErrEnded)
	want(t, h.Terminate(t.Context(), ""),
		`terminating instance "order-42": instance has ended (Completed): start a new one or use another ID`, client.ErrEnded)
}

func TestSendToNobody(t *testing.T) {
	w := newWorld(t, client.Options{})
	mend := `: not found: it never existed or was deleted; check the ID, and that this is the right store`
	want(t, w.Raise(t.Context(), "x", "e", 1), `raising event "e" to instance "x"`+mend, client.ErrNotFound)
	want(t, w.Cancel(t.Context(), "x", ""), `cancelling instance "x"`+mend, client.ErrNotFound)
	want(t, w.Terminate(t.Context(), "x", ""), `terminating instance "x"`+mend, client.ErrNotFound)
	_, err := client.Lookup[int](t.Context(), w.Client, "x")
	want(t, err, `looking up instance "x"`+mend, client.ErrNotFound)
	lost := client.HandleOf[int](w.Client, "x", provider.UUID{1})
	want(t, lost.Raise(t.Context(), "e", 1), `raising event "e" to instance "x"`+mend, client.ErrNotFound)
}

// A repeat never reaches the successor of the instance that the first attempt reached.
func TestRaiseKeepsToInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		old := w.Start(client.WithID("a"))
		var next client.Handle[receipt]
		replace := sync.OnceFunc(func() {
			w.Complete(old.Key(), `{}`)
			next = w.Start(client.WithID("a"), client.WithIDPolicy(client.ReplaceEnded))
		})
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, First: 1, Kind: faulty.After})
		w.plan.Sleep = func(context.Context, time.Duration) error {
			replace()
			return nil
		}
		// The second attempt comes when the first was consumed and the ID is somebody else's.
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Every: 2, Kind: faulty.Delay, Delay: 1})
		err := w.Raise(t.Context(), "a", "add", 1, client.WithRequestID("r"))
		want(t, err, `raising event "add" to instance "a": instance has ended (Completed): start a new one or use another ID; `+
			`it may have been stored all the same: repeat it with client.WithRequestID("r")`, client.ErrEnded, client.ErrOutcomeUnknown)
		if n := len(w.Inbox(next.Key())); n != 1 {
			t.Errorf("the successor has %d messages", n)
		}
	})
}

func TestRaiseRefusesBadInput(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"empty event":       {h.Raise(t.Context(), "", 1), client.ErrInvalid, "event name is empty"},
		"long event":        {h.Raise(t.Context(), long, 1), client.ErrInvalid, "5000 bytes"},
		"NUL event":         {h.Raise(t.Context(), "\x00", 1), client.ErrInvalid, "NUL"},
		"bad event":         {h.Raise(t.Context(), "\xff", 1), client.ErrInvalid, "UTF-8"},
		"function":          {h.Raise(t.Context(), "e", func() {}), client.ErrInvalid, "payload"},
		"large":             {h.Raise(t.Context(), "e", strings.Repeat("x", 2<<20)), client.ErrTooLarge, "2097154 bytes"},
		"empty request":     {h.Raise(t.Context(), "e", 1, client.WithRequestID("")), client.ErrInvalid, "request ID"},
		"nil option":        {h.Raise(t.Context(), "e", 1, nil), client.ErrInvalid, "option is nil"},
		"empty ID":          {w.Raise(t.Context(), "", "e", 1), client.ErrInvalid, "instance ID is empty"},
		"long ID":           {w.Cancel(t.Context(), long, ""), client.ErrInvalid, "5000 bytes"},
		"bad ID":            {w.Terminate(t.Context(), "\xff", ""), client.ErrInvalid, "UTF-8"},
		"cancel reason":     {h.Cancel(t.Context(), long), client.ErrTooLarge, "5000 bytes"},
		"terminate reason":  {h.Terminate(t.Context(), long), client.ErrTooLarge, "5000 bytes"},
		"bad cancel reason": {h.Cancel(t.Context(), "\xff"), client.ErrInvalid, "UTF-8"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) || len(c.err.Error()) > 800 {
			t.Errorf("%s: got %v", name, c.err)
		}
	}
	if i := w.Get(h.Key()); i.InboxMessages != 1 || i.Status != provider.StatusRunning {
		t.Errorf("something was stored: %+v", i)
	}
}

func TestInboxFull(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, First: 1, Kind: faulty.Before, Err: provider.ErrInboxFull})
	want(t, h.Raise(t.Context(), "e", 1), `raising event "e" to instance "a": inbox full: `+
		`try again when the instance has taken its messages; check that a node runs its code`, client.ErrInboxFull)
}
