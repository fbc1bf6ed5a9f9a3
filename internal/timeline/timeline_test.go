package timeline

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

var update = flag.Bool("update", false, "write the golden files")

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// script makes a history.
type script struct {
	now    time.Time
	events []client.HistoryEvent
}

func (s *script) after(d time.Duration) *script {
	s.now = s.now.Add(d)
	return s
}

// add appends an event, and returns its number.
func (s *script) add(kind string, e client.HistoryEvent) int64 {
	e.ID, e.Kind, e.Time, e.Execution = int64(len(s.events))+1, kind, s.now, 1
	s.events = append(s.events, e)
	return e.ID
}

func (s *script) call(name string) int64 {
	return s.add("ActivityScheduled", client.HistoryEvent{Name: name})
}

func (s *script) done(of int64) { s.add("ActivityCompleted", client.HistoryEvent{Ref: of, Attempt: 1}) }

// source returns the source of an instance that runs, or has ended with the last event.
func (s *script) source(running bool) *Source {
	d := client.Description{
		ID: "order-42", Key: provider.UUID{1}, Status: client.StatusRunning, Execution: 1, CreatedAt: begin, AsOf: s.now, HistoryLength: int64(len(s.events)),
	}
	if !running {
		d.Status, d.EndedAt = client.StatusCompleted, s.now
	}
	return &Source{Of: d, Execution: 1, Status: d.Status, Length: int64(len(s.events)), Head: s.events}
}

func newScript() *script {
	s := &script{now: begin}
	s.add("ExecutionStarted", client.HistoryEvent{Name: "Order"})
	return s
}

// dump returns the rows of a timeline as text.
func dump(t *Timeline) string {
	var b strings.Builder
	at := func(x time.Time) string {
		if x.IsZero() {
			return "?"
		}
		return fmt.Sprint(x.Sub(t.Begin))
	}
	fmt.Fprintf(&b, "%s, execution %d, %s, %v, open %v, %d events, %d not read, %d steps\n",
		t.ID, t.Execution, t.Status, t.Whole(), t.Open, t.Events, t.NotRead, t.Steps)
	var write func(indent string, r *Row)
	write = func(indent string, r *Row) {
		fmt.Fprintf(&b, "%s%d-%d %s %q: %s to %s, %s", indent, r.Event, r.EndEvent, r.Kind, r.Title(), at(r.Began), at(r.Ended), r.Words())
		if r.Instance != "" {
			fmt.Fprintf(&b, " [%s]", r.Instance)
		}
		if !r.Next.IsZero() {
			fmt.Fprintf(&b, " next %s", at(r.Next))
		}
		if r.Failure != "" {
			fmt.Fprintf(&b, " failure %q", r.Failure)
		}
		b.WriteByte('\n')
		for i := range r.Spans {
			fmt.Fprintf(&b, "%s  %s to %s: %s\n", indent, at(r.Spans[i].Began), at(r.Spans[i].Ended), r.Spans[i].Words())
		}
		for i := range r.Members {
			write(indent+"    ", &r.Members[i])
		}
	}
	for i := range t.Rows {
		write("", &t.Rows[i])
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// mixed is a history of about fifty events with one of everything.
func mixed() *script {
	s := newScript()
	s.after(100 * time.Millisecond)
	charge := s.call("Charge")
	s.after(4*time.Second).add("ActivityFailed", client.HistoryEvent{
		Ref: charge, Attempt: 13, Failure: &client.Failure{Message: "503"},
		Attempts: func() (list []client.Attempt) {
			for i := range 10 {
				at := begin.Add(time.Second + time.Duration(i)*300*time.Millisecond)
				list = append(list, client.Attempt{Number: int64(4 + i), Node: "shop-1", Began: at, Ended: at.Add(100 * time.Millisecond), Failure: "503"})
			}
			return list
		}(),
	})
	quorum := []int64{s.call("AskNorth"), s.call("AskSouth"), s.call("AskWest")}
	limit := s.add("TimerCreated", client.HistoryEvent{Duration: time.Minute, Due: s.now.Add(time.Minute)})
	s.after(time.Second).done(quorum[1])
	s.after(time.Second).done(quorum[0])
	s.add("TimerCancelled", client.HistoryEvent{Ref: limit})
	s.add("ActivityCancelRequested", client.HistoryEvent{Ref: quorum[2]})
	s.after(time.Second).add("ActivityFailed", client.HistoryEvent{Ref: quorum[2], Attempt: 1, Failure: &client.Failure{Code: "cancelled", Message: "cancelled"}})
	s.add("EventReceived", client.HistoryEvent{Name: "approval"})
	child := s.add("ChildStarted", client.HistoryEvent{Name: "Delivery", Instance: "order-42/delivery", InstanceKey: provider.UUID{2}})
	up := s.add("UpdateReceived", client.HistoryEvent{Name: "address"})
	s.after(time.Second).add("UpdateRejected", client.HistoryEvent{Ref: up, Failure: &client.Failure{Message: "too late"}})
	s.add("LocalEnded", client.HistoryEvent{Name: "Price", Attempt: 1})
	s.add("PatchMarked", client.HistoryEvent{Name: "new-tax"})
	for range 10 {
		of := s.after(100 * time.Millisecond).call("Reserve")
		s.after(200 * time.Millisecond).done(of)
	}
	s.add("ForkPoint", client.HistoryEvent{Reason: "again", Origin: &client.Parent{ID: "order-42", Key: provider.UUID{1}, Execution: 1, EventID: 9}})
	s.after(2*time.Second).add("ChildFailed", client.HistoryEvent{Ref: child, Failure: &client.Failure{Message: "no truck"}})
	s.add("TimerCreated", client.HistoryEvent{Duration: time.Hour, Due: s.now.Add(time.Hour)})
	s.call("Carry")
	s.add("ContinuedAsNew", client.HistoryEvent{Name: "Order"})
	return s
}

// The model of a history with one event, of one with one of everything, and of a long one.
func TestTimelineOfHistories(t *testing.T) {
	t.Parallel()
	golden(t, "one", dump(New(newScript().after(time.Minute).source(true), Options{})))
	golden(t, "mixed", dump(New(mixed().source(false), Options{})))
	running := mixed()
	running.events = running.events[:len(running.events)-1]
	carry := running.events[len(running.events)-1]
	src := running.after(time.Minute).source(true)
	src.Of.Activities = []client.Activity{{
		EventID: carry.ID, Name: "Carry", Queue: "carriers", State: client.ActivityQueued, Attempt: 3, ScheduledAt: carry.Time,
		NotBefore: running.now.Add(time.Minute), Failure: &client.Failure{Message: "503"},
		Attempts: []client.Attempt{
			{Number: 1, Node: "shop-1", Began: carry.Time, Ended: carry.Time.Add(time.Second), Failure: "503"},
			{Number: 2, Node: "shop-2", Began: carry.Time.Add(20 * time.Second), Ended: carry.Time.Add(21 * time.Second), Failure: "503"},
		},
	}}
	src.Of.Waits = []client.Wait{{Kind: client.WaitActivity, EventID: carry.ID}, {Kind: client.WaitTimer, EventID: carry.ID - 1}}
	src.Of.Waiting = &client.WaitingFor{Text: "approve the order of Bob?", Since: running.now.Add(-30 * time.Second)}
	src.Of.Blocked = &client.Blocked{Reason: "poisoned", Message: "secret text", Count: 4, Since: running.now.Add(-10 * time.Second)}
	golden(t, "running", dump(New(src, Options{Text: func(string) string { return "(hidden)" }, Part: func(string) string { return "(hidden)" }})))
}

// loop returns two thousand calls one after the other, of which some failed.
func loop(n int) *script {
	s := newScript()
	for i := range n {
		of := s.after(10 * time.Millisecond).call("Reserve")
		s.after(10 * time.Millisecond)
		if i%500 == 7 {
			s.add("ActivityFailed", client.HistoryEvent{Ref: of, Attempt: 1, Failure: &client.Failure{Message: "out of stock"}})
		} else {
			s.done(of)
		}
	}
	return s
}

func TestLongHistoriesFold(t *testing.T) {
	t.Parallel()
	golden(t, "2000", dump(New(loop(1000).source(true), Options{})))
	s := newScript()
	for i := range 500 {
		s.add("ChildStarted", client.HistoryEvent{Name: "Delivery", Instance: fmt.Sprintf("order-42/%d", i), InstanceKey: provider.UUID{3, byte(i), byte(i >> 8)}})
	}
	for i := range int64(450) {
		s.after(time.Second)
		if i == 99 {
			s.add("ChildFailed", client.HistoryEvent{Ref: 2 + i, Failure: &client.Failure{Message: "no truck"}})
		} else {
			s.add("ChildCompleted", client.HistoryEvent{Ref: 2 + i})
		}
	}
	golden(t, "children", dump(New(s.source(true), Options{})))
}

// Names that would lay out a page or a terminal anew stay data.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := newScript()
	for _, name := range []string{"<script>alert(1)</script>", "\u202egnp.exe", "חשבונית-٤٢", strings.Repeat("x", 500), "\x1b[2J\n", "a\u0301\u0301\u0301", ""} {
		s.after(time.Second).done(s.call(name))
		s.add("ChildStarted", client.HistoryEvent{Name: name, Instance: name})
	}
	golden(t, "hostile", dump(New(s.source(true), Options{})))
}

// rowsOf counts all rows, also members.
func rowsOf(rows []Row) (n int) {
	for i := range rows {
		n += 1 + rowsOf(rows[i].Members)
	}
	return n
}

// stepsOf counts the steps that rows stand for.
func stepsOf(rows []Row) (n int) {
	for i := range rows {
		if k := rows[i].Kind; k != KindMark && k != KindGap {
			n += rows[i].Count
		}
	}
	return n
}

// However a history is made, its timeline has a few hundred rows, each step is in one of them or counted, and what is open or failed is counted as such.
func TestTimelinesAreBounded(t *testing.T) {
	t.Parallel()
	alternating := func(names int) *script {
		s := newScript()
		for i := range 25_000 {
			of := s.after(time.Millisecond).call(fmt.Sprint("Step", i%names))
			if i%5_000 != 0 {
				s.done(of)
			}
		}
		return s
	}
	for name, s := range map[string]*script{"a loop": loop(25_000), "two in turn": alternating(2), "each of another name": alternating(25_000)} {
		src := s.source(true)
		line := New(src, Options{MaxRows: 50})
		if n := rowsOf(line.Rows); n > 50+maxMembers || len(line.Rows) > 50 {
			t.Errorf("%s: %d rows, with members %d", name, len(line.Rows), n)
		}
		states := map[State]int{}
		for i := range line.Rows {
			if r := &line.Rows[i]; r.grouped() {
				for state, n := range r.States {
					states[state] += n
				}
			} else if r.Kind != KindMark {
				states[r.State]++
			}
			if n := len(line.Rows[i].Spans); n > maxParts {
				t.Errorf("%s: a row has %d spans", name, n)
			}
		}
		open := map[bool]int{true: 0, false: 5}[name == "a loop"]
		if stepsOf(line.Rows) != 25_000 || line.Steps != 25_000 || states[Open] != open {
			t.Errorf("%s: %d rows stand for %d steps of %d: %v", name, len(line.Rows), stepsOf(line.Rows), line.Steps, states)
		}
	}
}

// pages is a history that is read a page at a time.
type pages struct {
	events []client.HistoryEvent
	most   int // of a page
	read   int
}

func (p *pages) HistoryPage(_ context.Context, r client.HistoryRange) (client.HistoryPage, error) {
	length := int64(len(p.events))
	got := client.HistoryPage{Execution: 1, Status: client.StatusRunning, Length: length}
	n := min(r.Max, p.most)
	p.read += n
	from := max(1, r.From)
	if r.Newest {
		to := r.To
		for id := to; id >= from && len(got.Events) < n; id-- {
			got.Events = append(got.Events, p.events[id-1])
			got.Next = id - 1
		}
		got.More = got.Next >= from
		return got, nil
	}
	for id := from; id <= length && len(got.Events) < n; id++ {
		got.Events = append(got.Events, p.events[id-1])
		got.Next = id + 1
	}
	got.More = got.Next <= length
	return got, nil
}

// A history is read up to a bound. What is between its ends is unknown: nothing there is taken for open, ended or missing.
func TestNoMoreThanAPartIsRead(t *testing.T) {
	t.Parallel()
	s := newScript()
	for i := range 10_000 {
		s.after(time.Millisecond).call(fmt.Sprint("Step", i%2))
	}
	for i := range int64(10_000) {
		if i != 5 {
			s.after(time.Millisecond).done(2 + i)
		}
	}
	d := s.source(true).Of
	d.Activities = []client.Activity{{EventID: 7, Name: "Step1", Queue: "q", State: client.ActivityQueued, Attempt: 1, ScheduledAt: begin}}
	for _, c := range []struct{ most, pages, read int64 }{{200, 1000, 200}, {3_000, 1000, 3_000}, {3_001, 700, 3_001}, {50_000, 1000, 20_000}} {
		p := &pages{events: s.events, most: int(c.pages)}
		src, err := Read(t.Context(), p, d, 0, c.most)
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(src.Head) + len(src.Tail)); got != c.read || src.notRead() != 20_000-c.read || p.read > 2*int(c.read) {
			t.Errorf("up to %d: %d events in head and tail, %d asked for, %d not read", c.most, got, p.read, src.notRead())
		}
		for i, e := range src.Head {
			if e.ID != int64(i)+1 {
				t.Fatalf("up to %d: event %d is in place %d", c.most, e.ID, i)
			}
		}
		for i, e := range src.Tail {
			if e.ID != src.Length-int64(len(src.Tail))+int64(i)+1 {
				t.Fatalf("up to %d: event %d is in place %d of the end", c.most, e.ID, i)
			}
		}
		line, unread := New(&src, Options{}), src.notRead() > 0
		states := map[State]int{}
		for i := range line.Rows {
			for state, n := range line.Rows[i].States {
				states[state] += n
			}
		}
		for i := range line.Rows {
			if !line.Rows[i].grouped() && line.Rows[i].Kind != KindGap {
				states[line.Rows[i].State]++
			}
		}
		if open := states[Open]; open != 1 || unread != (states[Unknown] > 0) {
			t.Errorf("up to %d: %d open, in all %v", c.most, open, states)
		}
		if text := dump(line); unread != strings.Contains(text, "events were not read") {
			t.Errorf("up to %d: %s", c.most, text)
		}
	}
}

// A time that the store does not keep is left out of the JSON, and is no zero.
func TestUnknownTimesAreLeftOut(t *testing.T) {
	t.Parallel()
	src := newScript().after(time.Minute).source(true)
	src.Of.Waits = []client.Wait{{Kind: client.WaitEvent, Text: "an event"}}
	text, err := json.Marshal(New(src, Options{}))
	if err != nil || strings.Contains(string(text), "0001-01-01") || !strings.Contains(string(text), "since when is not stored") {
		t.Errorf("%s, %v", text, err)
	}
}

// Whoever redacts texts sees all of them: the first line and the first 200 bytes are cut off afterwards.
func TestHazard161_TextsAreRedactedBeforeTheyAreCut(t *testing.T) {
	const secret = "PIN=1\n234"
	s := newScript()
	s.add("ActivityFailed", client.HistoryEvent{Ref: s.call("Charge"), Attempt: 1, Failure: &client.Failure{Message: strings.Repeat("-", 50) + secret}})
	s.add("ExecutionFailed", client.HistoryEvent{Failure: &client.Failure{Message: strings.Repeat("-", maxFailure-6) + secret}})
	line := New(s.source(false), Options{Text: func(text string) string { return strings.ReplaceAll(text, secret, "(redacted)") }})
	failed := 0
	for _, r := range line.Rows {
		if strings.Contains(r.Failure, "PIN") {
			t.Errorf("%s shows %q", r.Title(), r.Failure)
		}
		if r.Failure != "" {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d rows have failed, want 2", failed)
	}
}

// What is read for a timeline holds a bounded number of bytes, however large payloads, details and texts are. What it does not hold counts as not read.
func TestATimelineHoldsABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	const many = 40
	large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for name, add := range map[string]func(s *script){
		"payloads": func(s *script) {
			of := s.add("ActivityScheduled", client.HistoryEvent{Name: "Large", Input: large, Header: map[string]string{"h": string(large)}})
			s.add("ActivityCompleted", client.HistoryEvent{Ref: of, Attempt: 1, Output: large, Attributes: map[string]any{"a": string(large)}})
		},
		"details": func(s *script) {
			s.add("ActivityFailed", client.HistoryEvent{Ref: s.call("Large"), Attempt: 1, Failure: &client.Failure{Message: "no", Details: large}})
		},
		"texts": func(s *script) {
			s.add("ActivityFailed", client.HistoryEvent{Ref: s.call("Large"), Attempt: 1, Failure: &client.Failure{Message: string(large)}})
		},
	} {
		s := newScript()
		for range many {
			add(s.after(time.Second))
		}
		src, err := Read(t.Context(), &pages{events: s.events, most: 7}, s.source(true).Of, 0, 6_000)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{src.Head, src.Tail})
		if most := 2*maxHeld + 7<<20; err != nil || len(text) > most {
			t.Errorf("%s: %d bytes are held, want at most %d: %v", name, len(text), most, err)
		}
		read := len(src.Head) + len(src.Tail)
		if name != "texts" && read != len(s.events) || name == "texts" && (src.notRead() == 0 || len(src.Tail) == 0) {
			t.Errorf("%s: %d of %d events are read, %d not", name, read, len(s.events), src.notRead())
		}
		if line := New(&src, Options{}); line.NotRead != src.notRead() || name != "texts" && len(line.Rows) > 3 {
			t.Errorf("%s: %d rows, %d events not read", name, len(line.Rows), line.NotRead)
		}
	}
}
