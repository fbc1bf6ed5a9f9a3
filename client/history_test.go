package client_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// events reads a whole history.
func events(t *testing.T, h client.Handle[receipt], execution int64) []client.HistoryEvent {
	t.Helper()
	var list []client.HistoryEvent
	for e, err := range h.History(t.Context(), execution) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

var key = [16]byte{15: 1}

const (
	keyText = `00000000-0000-0000-0000-000000000001`
	second  = `"time":"1970-01-01T00:00:01Z"`
)

// kinds has one event of each kind, and what it is shown as.
var kinds = []struct {
	body history.Body
	json string
}{
	{
		&history.ExecutionOpened{},
		`"kind":"ExecutionOpened"`,
	},
	{
		&history.ActivityScheduled{Name: "Charge", Queue: "q", Input: []byte("1"), StartToClose: 10},
		`"kind":"ActivityScheduled","name":"Charge","input":1,"queue":"q","timeoutNanos":10000`,
	},
	{
		&history.ActivityCompleted{Scheduled: 3, Output: []byte(`"ok"`), Attempt: 2},
		`"kind":"ActivityCompleted","ref":3,"output":"ok","attempt":2`,
	},
	{
		&history.ActivityFailed{Scheduled: 3, Failure: history.Failure{Message: "no", Code: "timeout"}, Attempt: 1},
		`"kind":"ActivityFailed","ref":3,"failure":{"message":"no","code":"timeout"},"attempt":1`,
	},
	{
		&history.LocalEnded{Call: 1, Name: "Price", Output: []byte("7"), Attempt: 2},
		`"kind":"LocalEnded","name":"Price","output":7,"attempt":2`,
	},
	{
		&history.LocalEnded{Call: 2, Name: "Price", Failure: &history.Failure{Message: "no"}, Attempt: 1},
		`"kind":"LocalEnded","name":"Price","failure":{"message":"no"},"attempt":1`,
	},
	{
		&history.LocalQueued{Call: 3, Name: "Price", Attempts: 2, Delay: 1_000_000},
		`"kind":"LocalQueued","name":"Price","attempt":2,"durationNanos":1000000000`,
	},
	{
		&history.ForkPoint{Key: key, ID: "o", Execution: 2, Event: 3, Reason: "why", RequestID: "r"},
		`"kind":"ForkPoint","origin":{"id":"o","key":"` + keyText + `","execution":2,"eventId":3},"reason":"why","requestId":"r"`,
	},
	{&history.ActivityCancelRequested{Scheduled: 3}, `"kind":"ActivityCancelRequested","ref":3`},
	{
		&history.TimerCreated{Due: 2_000_000, Duration: 1_000_000},
		`"kind":"TimerCreated","durationNanos":1000000000,"due":"1970-01-01T00:00:02Z"`,
	},
	{&history.TimerFired{Timer: 7}, `"kind":"TimerFired","ref":7`},
	{&history.TimerCancelled{Timer: 7}, `"kind":"TimerCancelled","ref":7`},
	{
		&history.EventReceived{Name: "approval", Payload: []byte(`{}`), RequestID: "r"},
		`"kind":"EventReceived","name":"approval","input":{},"requestId":"r"`,
	},
	{
		&history.ChildStarted{Name: "Child", CodeVersion: "v2", ID: "c", Key: key, Input: []byte("\xff")},
		`"kind":"ChildStarted","name":"Child","codeVersion":"v2","input":"/w==","instance":"c","instanceKey":"` + keyText + `"`,
	},
	{
		&history.ChildStarted{
			Name: "Child", ID: "c", Cancellation: history.CancelAbandon, Close: history.CloseAbandon, Attributes: []history.Attribute{{Name: "region", Kind: 1, Text: "eu"}},
			Header: history.EncodeHeader(map[string]string{"tenant": "acme"}),
		},
		`"kind":"ChildStarted","name":"Child","instance":"c","cancellation":"abandon","closePolicy":"abandon","attributes":{"region":"eu"},"header":{"tenant":"acme"}`,
	},
	{&history.ChildCompleted{Started: 11, Output: []byte("2")}, `"kind":"ChildCompleted","ref":11,"output":2`},
	{&history.ChildFailed{Started: 11, Failure: history.Failure{Message: "no"}}, `"kind":"ChildFailed","ref":11,"failure":{"message":"no"}`},
	{
		&history.ChildCancelRequested{Started: 11, Key: key},
		`"kind":"ChildCancelRequested","ref":11,"instanceKey":"` + keyText + `"`,
	},
	{
		&history.DetachedStarted{Name: "Run", CodeVersion: "v2", ID: "c", Key: key, Input: []byte("1"), RequestID: "r", EndEvent: "over"},
		`"kind":"DetachedStarted","name":"Run","codeVersion":"v2","input":1,"instance":"c","instanceKey":"` + keyText + `","requestId":"r"`,
	},
	{
		&history.EventSent{ID: "c", Key: key, Name: "go", Payload: []byte("1"), Message: key},
		`"kind":"EventSent","name":"go","input":1,"instance":"c","instanceKey":"` + keyText + `"`,
	},
	{
		&history.CancelSent{ID: "c", Key: key, Reason: "why", Message: key},
		`"kind":"CancelSent","instance":"c","instanceKey":"` + keyText + `","reason":"why"`,
	},
	{&history.ReplyReceived{Command: 3, Message: key, Outcome: history.ReplyFull}, `"kind":"ReplyReceived","ref":3,"reason":"inbox full"`},
	{&history.CancelRequested{Reason: "why", RequestID: "r"}, `"kind":"CancelRequested","reason":"why","requestId":"r"`},
	{&history.PatchMarked{ID: "p"}, `"kind":"PatchMarked","name":"p"`},
	{&history.SideEffectRecorded{Value: []byte("3")}, `"kind":"SideEffectRecorded","output":3`},
	{
		&history.SideEffectRecorded{Failure: &history.Failure{Type: "*x.E", Message: "no", NonRetryable: true}},
		`"kind":"SideEffectRecorded","failure":{"type":"*x.E","message":"no","nonRetryable":true}`,
	},
	{&history.UpdateReceived{Name: "add", ID: "u-1", Input: []byte("7")}, `"kind":"UpdateReceived","name":"add","input":7,"requestId":"u-1"`},
	{&history.UpdateAccepted{Received: 12}, `"kind":"UpdateAccepted","ref":12`},
	{
		&history.UpdateRejected{Received: 12, Outcome: history.UpdateUnknown, Failure: &history.Failure{Message: "no"}},
		`"kind":"UpdateRejected","ref":12,"failure":{"message":"no"},"reason":"unknown"`,
	},
	{
		&history.UpdateCompleted{Received: 12, Outcome: history.UpdateDone, Output: []byte("2")},
		`"kind":"UpdateCompleted","ref":12,"output":2,"reason":"completed"`,
	},
	{&history.MainReturned{Output: []byte("3"), Grace: 1_000_000}, `"kind":"MainReturned","output":3,"durationNanos":1000000000`},
	{
		&history.MainReturned{Next: &history.ContinuedAsNew{Name: "Next", Input: []byte("5")}, Grace: 1_000},
		`"kind":"MainReturned","name":"Next","input":5,"durationNanos":1000000`,
	},
	{&history.ExecutionCompleted{Output: []byte("4")}, `"kind":"ExecutionCompleted","output":4`},
	{&history.ExecutionFailed{Failure: history.Failure{Message: "no"}}, `"kind":"ExecutionFailed","failure":{"message":"no"}`},
	{&history.ExecutionCancelled{Failure: history.Failure{Message: "no"}}, `"kind":"ExecutionCancelled","failure":{"message":"no"}`},
	{&history.ExecutionTerminated{Reason: "why"}, `"kind":"ExecutionTerminated","reason":"why"`},
	{
		&history.ContinuedAsNew{Name: "Checkout", CodeVersion: "v2", Input: []byte("5")},
		`"kind":"ContinuedAsNew","name":"Checkout","codeVersion":"v2","input":5`,
	},
	{
		&history.ExecutionStarted{Name: "Child", Parent: history.Parent{Key: key, ID: "p", Execution: 2, EventID: 3}, Continued: true},
		`"kind":"ExecutionStarted","name":"Child","parent":{"id":"p","key":"` + keyText + `","execution":2,"eventId":3},"continued":true`,
	},
}

// A message with which code learns of a newer version says so.
func TestHistoryShowsTheNewerVersion(t *testing.T) {
	t.Parallel()
	f := fileOf(&history.ExecutionOpened{})
	f.Events[0] = history.Encode(nil, history.Event{Newer: true, Body: &history.ExecutionOpened{}})
	for e, err := range f.Readable() {
		if err != nil || !e.NewerVersion {
			t.Errorf("got %+v, %v", e, err)
		}
	}
}

func TestHistoryShowsEveryKind(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	bodies := make([]history.Body, len(kinds))
	seen := map[history.Kind]bool{}
	for i, k := range kinds {
		bodies[i] = k.body
		seen[k.body.Kind()] = true
	}
	for kind := range history.Kind(255) {
		if !strings.HasPrefix(kind.String(), "Kind") && !seen[kind] {
			t.Errorf("no sample of %v", kind)
		}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, bodies...)
	list := events(t, h, 0)
	if len(list) != len(kinds)+1 || list[0].Kind != "ExecutionStarted" || string(list[0].Input) != `{"Item":"tea"}` || list[0].ID != 1 {
		t.Fatalf("%d events: %+v", len(list), list)
	}
	for i, k := range kinds {
		data, err := json.Marshal(list[i+1])
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(string(data), second+",")
		if shown != k.json+`,"execution":1}` {
			t.Errorf("event %d is shown as\n\t%s, want\n\t%s", i+2, data, k.json)
		}
	}
}

func TestHistoryPages(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	big := make([]history.Body, 10)
	for i := range big {
		big[i] = &history.SideEffectRecorded{Value: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, big...)
	list := events(t, h, 1)
	if len(list) != 11 || list[10].ID != 11 || list[10].Time.Unix() != 1 {
		t.Errorf("%d events", len(list))
	}
	for e, err := range h.History(t.Context(), 0) {
		if err != nil || e.ID != 1 {
			t.Errorf("first event %+v, %v", e, err)
		}
		break
	}
}

// A loop that began with the current execution stays with it.
func TestHistoryKeepsToExecution(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	big := make([]history.Body, 5)
	for i := range big {
		big[i] = &history.SideEffectRecorded{Value: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, big...)
	if err := h.Raise(t.Context(), "next", 1); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range w.History(t.Context(), "a", 0) {
		if n++; err != nil || e.ID != int64(n) {
			t.Fatalf("event %d: %+v, %v", n, e, err)
		}
		if n == 1 {
			w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
				req.Next = &provider.NextExecution{Events: [][]byte{history.Encode(nil, history.Event{At: 5, Body: &history.ExecutionStarted{Name: "Checkout"}})}}
			}, &history.ContinuedAsNew{})
		}
	}
	if n != 8 {
		t.Errorf("%d events", n)
	}
	if list := events(t, h, 2); len(list) != 1 {
		t.Errorf("execution 2 has %d events", len(list))
	}
}

func TestHistoryErrors(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	w.Commit(h.Key(), func(req *provider.CommitTurnRequest) { req.Events = append(req.Events, []byte{9, 9}) })
	read := func(id string, execution int64) (n int, err error) {
		for _, err = range w.History(t.Context(), id, execution) {
			n++
		}
		return n, err
	}
	for name, c := range map[string]struct {
		id        string
		execution int64
		events    int
		want      error
	}{
		"newer":            {"a", 0, 2, history.ErrNewer},
		"unknown":          {"b", 0, 1, client.ErrNotFound},
		"no such":          {"a", 2, 1, client.ErrNotFound},
		"negative":         {"a", -1, 1, client.ErrInvalid},
		"empty":            {"", 0, 1, client.ErrInvalid},
		"no UTF-8 in a ID": {"\xff", 0, 1, client.ErrInvalid},
	} {
		if n, err := read(c.id, c.execution); n != c.events || !errors.Is(err, c.want) {
			t.Errorf("%s: after %d: %v", name, n, err)
		}
	}
}

// A page of a history ends when it holds 16 MiB, in both directions and with a choice of kinds. The pages together have each event once.
func TestAPageOfAHistoryIsBounded(t *testing.T) {
	const mebi, all = 1 << 20, 40
	w := newWorld(t, client.Options{})
	h := w.Start()
	big := make([]history.Body, all)
	for i := range big {
		big[i] = &history.SideEffectRecorded{Value: []byte(`"` + strings.Repeat("x", mebi) + `"`)}
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, big[:all/2]...)
	if err := h.Raise(t.Context(), "next", 1); err != nil {
		t.Fatal(err)
	}
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {}, big[all/2:]...)
	for _, r := range []client.HistoryRange{
		{Max: 1000, From: 2},
		{Max: 1000, From: 2, Newest: true},
		{Max: 1000, Kinds: []string{"SideEffectRecorded"}},
		{Max: 1000, Kinds: []string{"SideEffectRecorded"}, Newest: true},
	} {
		var found []int64
		pages := 0
		for more := true; more; pages++ {
			p, err := h.HistoryPage(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			held := 0
			for _, e := range p.Events {
				held += len(e.Output)
				found = append(found, e.ID)
			}
			if held > 18*mebi {
				t.Errorf("%+v: a page of %d events holds %d bytes", r, len(p.Events), held)
			}
			if more = p.More; r.Newest {
				r.To = p.Next
			} else {
				r.From = p.Next
			}
		}
		if r.Newest {
			slices.Reverse(found)
		}
		want := all + 1 - min(1, len(r.Kinds)) // with the event between both commits
		if len(found) != want || found[0] != 2 || found[want-1] != all+2 || !slices.IsSorted(found) || pages < 3 {
			t.Errorf("%+v: %d pages with the events %d", r, pages, found)
		}
	}
}
