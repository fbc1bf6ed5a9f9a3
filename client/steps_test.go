package client_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// A step that has ended is not open because its end is on a later page, or of another kind than was asked for. Behind a part that is too long
// to read nothing is said.
func TestStepsFindEndsBehindThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	charge := &history.ActivityScheduled{Name: "Charge", Queue: "q", Input: []byte("1")}
	done := func(of int64) history.Body {
		return &history.ActivityCompleted{Scheduled: of, Output: []byte("1"), Attempt: 1}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, charge, charge, charge, done(2), done(4)) // 1 started, 2-4 calls, 5 and 6 ends
	shows := func(what string, r client.HistoryRange, want string) {
		t.Helper()
		page, err := h.HistoryPage(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := h.Steps(t.Context(), page.Events)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range steps {
			s, end := &steps[i], int64(0)
			if s.End != nil {
				end = s.End.ID
			}
			got += fmt.Sprintf("%d-%d %v %v;", s.ID, end, s.Pending(), s.EndUnknown)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const open = "3-0 true false;"
	shows("all", client.HistoryRange{}, "1-0 false false;2-5 false false;"+open+"4-6 false false;")
	shows("the first page", client.HistoryRange{Max: 3}, "1-0 false false;2-5 false false;"+open)
	shows("one kind", client.HistoryRange{Kinds: []string{"ActivityScheduled"}}, "2-5 false false;"+open+"4-6 false false;")
	shows("the middle", client.HistoryRange{From: 3, To: 4}, open+"4-6 false false;")
	if err := h.Raise(t.Context(), "more", 1); err != nil {
		t.Fatal(err)
	}
	many := make([]history.Body, 0, 22_000)
	for range 11_000 {
		many = append(many, charge)
	}
	for i := range int64(11_000) {
		many = append(many, done(8+i))
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, many...)
	shows("before a long rest", client.HistoryRange{From: 3, To: 4}, "3-0 true true;4-6 false false;")
}
