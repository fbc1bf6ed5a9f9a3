package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// Follow returns at once without a mark, and else when the description differs: also by what changes no version.
func TestHazard83_FollowSeesAllThatDescribeShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
			req.Tasks = append(req.Tasks, provider.NewTask{EventID: 10, Queue: "default", Name: "Charge"})
		})
		d, mark, err := h.Follow(t.Context(), "")
		if err != nil || mark == "" || len(d.Activities) != 1 {
			t.Fatalf("%+v, mark %q, %v", d, mark, err)
		}
		for _, c := range []struct {
			name   string
			change func()
		}{
			{"message", func() {
				if err := h.Raise(t.Context(), "e", 1); err != nil {
					t.Error(err)
				}
			}},
			{"retry", func() {
				w.tasks("Charge", provider.TaskReport{Outcome: provider.TaskRetry, Attempt: 1, Details: []byte(`5`)})
			}},
			{"blocked", func() { w.hold(h) }},
		} {
			name, change := c.name, c.change
			began := time.Now()
			time.AfterFunc(5*time.Second, change)
			next, changed, err := h.Follow(t.Context(), mark)
			if err != nil || changed == mark {
				t.Fatalf("%s: mark %q, %v", name, changed, err)
			}
			if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
				t.Errorf("%s: the change was seen after %v", name, took)
			}
			if now, err := h.Describe(t.Context()); err != nil || now.InboxMessages != next.InboxMessages || (now.Blocked == nil) != (next.Blocked == nil) {
				t.Errorf("%s: followed %+v, described %+v, %v", name, next, now, err)
			}
			mark = settled(t, h, changed)
		}
	})
}

// settled follows until nothing changes for a minute.
func settled(t *testing.T, h client.Handle[receipt], mark string) string {
	t.Helper()
	for {
		_, next, err := h.Follow(t.Context(), mark, client.FollowFor(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if next == mark {
			return mark
		}
		mark = next
	}
}

// A bounded Follow returns in time with the same mark; one of a deleted instance, or whose context ends, returns an error.
func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		_, mark, err := w.Follow(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, most := range []time.Duration{20 * time.Second, 2 * time.Minute} {
			began := time.Now()
			d, next, err := w.Follow(t.Context(), "a", mark, client.FollowFor(most))
			if err != nil || next != mark || d.ID != "a" || time.Since(began) != most {
				t.Errorf("%v: %q after %v, %v", most, next, time.Since(began), err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, _, err := h.Follow(ctx, mark); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the context: %v", err)
		}
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Get}, First: 3, Kind: faulty.Before})
		time.AfterFunc(time.Minute, func() {
			if _, err := w.store.Delete(context.WithoutCancel(t.Context()), provider.DeleteRequest{Key: h.Key(), Force: true}); err != nil {
				t.Error(err)
			}
		})
		if _, _, err := h.Follow(t.Context(), mark); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("after a deletion: %v", err)
		}
	})
}

// Followers read at most ten times a second, although the instance changes faster.
func TestHazard83_WatchIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		go func() {
			for i := range 200 {
				_ = h.Raise(t.Context(), "e", i)
				time.Sleep(10 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
			}
			w.Complete(h.Key(), `{}`)
		}()
		began, seen, last := time.Now(), 0, client.Description{}
		for d, err := range h.Watch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			seen, last = seen+1, d
		}
		if most := int(time.Since(began)/provider.MarkPace) + 2; seen > most || seen < 5 || last.Status != client.StatusCompleted {
			t.Errorf("%d descriptions in %v, want at most %d; the last is %v", seen, time.Since(began), most, last.Status)
		}
	})
}

// fill makes an instance with a history of n commands behind its start, and a failure in each tenth.
func (w *world) fill(id string, n int) client.Handle[receipt] {
	w.t.Helper()
	h := w.Start(client.WithID(id))
	bodies := make([]history.Body, 0, n)
	for i := range n {
		switch {
		case i%10 == 9:
			bodies = append(bodies, &history.SideEffectRecorded{Failure: &history.Failure{Message: "no"}})
		case i%2 == 0:
			bodies = append(bodies, &history.TimerCreated{Duration: 1})
		default:
			bodies = append(bodies, &history.SideEffectRecorded{Value: []byte("1")})
		}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, bodies...)
	return h
}

func ids(list []client.HistoryEvent) (all []int64) {
	for i := range list {
		all = append(all, list[i].ID)
	}
	return all
}

func TestHistoryRanges(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.fill("a", 99) // events 1 to 100
	for name, c := range map[string]struct {
		asked client.HistoryRange
		want  string
		more  bool
		next  int64
	}{
		"first":         {client.HistoryRange{Max: 3}, "[1 2 3]", true, 4},
		"middle":        {client.HistoryRange{From: 50, Max: 2}, "[50 51]", true, 52},
		"range":         {client.HistoryRange{From: 50, To: 52}, "[50 51 52]", false, 53},
		"end":           {client.HistoryRange{From: 99}, "[99 100]", false, 101},
		"behind":        {client.HistoryRange{From: 101}, "[]", false, 101},
		"last":          {client.HistoryRange{Newest: true, Max: 3}, "[100 99 98]", true, 97},
		"before":        {client.HistoryRange{Newest: true, To: 2}, "[2 1]", false, 0},
		"from the end":  {client.HistoryRange{Newest: true, From: 99}, "[100 99]", false, 98},
		"kind":          {client.HistoryRange{Kinds: []string{"TimerCreated"}, Max: 3}, "[2 4 6]", true, 7},
		"failed":        {client.HistoryRange{Failed: true, Max: 2, From: 12}, "[21 31]", true, 32},
		"last failed":   {client.HistoryRange{Failed: true, Max: 2, Newest: true}, "[91 81]", true, 80},
		"failed kind":   {client.HistoryRange{Failed: true, Kinds: []string{"TimerCreated"}}, "[]", false, 101},
		"several kinds": {client.HistoryRange{Kinds: []string{"ExecutionStarted", "TimerCreated"}, Max: 2}, "[1 2]", true, 3},
	} {
		page, err := h.HistoryPage(t.Context(), c.asked)
		if err != nil || fmt.Sprint(ids(page.Events)) != c.want || page.More != c.more || page.Next != c.next {
			t.Errorf("%s: events %v, more %v, next %d, %v", name, ids(page.Events), page.More, page.Next, err)
		}
		if page.Length != 100 || page.Execution != 1 || page.Status != client.StatusRunning {
			t.Errorf("%s: the execution is %+v", name, page)
		}
		for _, e := range page.Events {
			if e.Time.Unix() != 1 || e.Execution != 1 { // that of the message before it, wherever the page begins
				t.Errorf("%s: event %d of execution %d has the time %v", name, e.ID, e.Execution, e.Time)
			}
		}
	}
	for name, r := range map[string]client.HistoryRange{
		"execution": {Execution: -1}, "from": {From: -1}, "to": {To: -1}, "order": {From: 2, To: 1}, "max": {Max: 1001}, "wait": {Wait: time.Hour},
		"wait back": {Wait: time.Second, Newest: true}, "kind": {Kinds: []string{"Sleeping"}},
	} {
		if _, err := h.HistoryPage(t.Context(), r); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := w.HistoryPage(t.Context(), "a", client.HistoryRange{Execution: 2}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("another execution: %v", err)
	}
}

// A page that waits returns the event when it is stored, and an empty page when the wait has passed.
func TestHistoryPageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.fill("a", 9)
		began := time.Now()
		asked := client.HistoryRange{From: 11, Wait: 20 * time.Second, Kinds: []string{"TimerCreated"}}
		page, err := h.HistoryPage(t.Context(), asked)
		if err != nil || len(page.Events) > 0 || page.Next != 11 || time.Since(began) != 20*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), page, err)
		}
		for after, bodies := range map[time.Duration][]history.Body{3 * time.Second: nil, 6 * time.Second: {&history.TimerCreated{Duration: 1}}} {
			time.AfterFunc(after, func() {
				_ = h.Raise(t.Context(), "e", 1)
				w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, bodies...)
			})
		}
		began = time.Now()
		page, err = h.HistoryPage(t.Context(), asked)
		if err != nil || fmt.Sprint(ids(page.Events)) != "[13]" || time.Since(began) > 7*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), page, err)
		}
	})
}

// FollowHistory returns each event once and in order, across executions, and ends with the instance.
func TestFollowHistoryAcrossExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		go func() {
			w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, &history.TimerCreated{Duration: 1})
			time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
			_ = h.Raise(t.Context(), "go", 1)
			w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
				started := history.Event{At: 5, Body: &history.ExecutionStarted{Name: "Checkout"}}
				req.Next = &provider.NextExecution{Events: [][]byte{history.Encode(nil, started)}}
			}, &history.ContinuedAsNew{})
			time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
			_ = h.Raise(t.Context(), "e", 1)
			w.Complete(h.Key(), `{}`)
		}()
		var across, one []string
		for e, err := range h.FollowHistory(t.Context(), client.HistoryFollow{Across: true}) {
			if err != nil {
				t.Fatal(err)
			}
			across = append(across, fmt.Sprintf("%d/%d %s", e.Execution, e.ID, e.Kind))
		}
		want := "[1/1 ExecutionStarted 1/2 TimerCreated 1/3 EventReceived 1/4 ContinuedAsNew 2/1 ExecutionStarted 2/2 EventReceived 2/3 ExecutionCompleted]"
		if fmt.Sprint(across) != want {
			t.Errorf("followed %v, want %s", across, want)
		}
		for e, err := range w.FollowHistory(t.Context(), "a", client.HistoryFollow{Execution: 1, From: 2}) {
			if err != nil {
				t.Fatal(err)
			}
			one = append(one, e.Kind)
		}
		if fmt.Sprint(one) != "[TimerCreated EventReceived ContinuedAsNew]" {
			t.Errorf("followed %v of execution 1", one)
		}
	})
}
