package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/timeline"
)

// A bar is where its row is, is seen however short it is, and says in words what it shows.
func TestBarsArePlaced(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	line := draw(&timeline.Timeline{Begin: begin, End: at(100), Open: true, Rows: []timeline.Row{
		{Kind: timeline.KindActivity, Name: "Charge", Event: 2, State: timeline.Failed, Began: at(10), Ended: at(40), Count: 1, Attempt: 12, NotKept: 10, Spans: []timeline.Span{
			{Kind: timeline.SpanNotKept, Began: at(10), Ended: at(20)},
			{Kind: timeline.SpanAttempt, Began: at(20), Ended: at(20), Attempt: 11, Failed: true, Failure: "503"},
			{Kind: timeline.SpanBackoff, Began: at(20), Ended: at(40)},
			{Kind: timeline.SpanAttempt, Began: at(100), Ended: at(100), Attempt: 12, Failed: true},
		}},
		{Kind: timeline.KindTimer, Name: "1 h 0 min", State: timeline.Open, Count: 1, Began: at(50), Spans: []timeline.Span{{Kind: timeline.SpanWaiting, Began: at(50)}}},
		{Kind: timeline.KindWait, Name: "an event", State: timeline.Open, Count: 1, Detail: "since when is not stored"},
	}})
	got := ""
	for i := range line.Bars {
		for _, p := range line.Bars[i].Parts {
			got += p.X + "+" + p.Width + " " + p.Class + "\n"
		}
	}
	const want = "20.000%+20.000% backoff\n10.000%+10.000% unknown\n20.000%+0.500% whole failed\n99.500%+0.500% whole failed\n50.000%+50.000% waiting\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	label := line.Bars[0].Label()
	for _, part := range []string{"activity Charge", "failed after 30.0 s", "10 attempts not kept", "attempt 11, 0 s: 503"} {
		if !strings.Contains(label, part) {
			t.Errorf("the label lacks %q: %s", part, label)
		}
	}
	if b := line.Bars[2]; len(b.Parts) != 0 || b.Offset != "" {
		t.Errorf("what began at an unknown time is drawn at %+v, %q", b.Parts, b.Offset)
	}
}

// Points of reset are what client.Reset accepts: messages, and the end of a history that goes on.
func TestPointsAreMessages(t *testing.T) {
	t.Parallel()
	p := &points{root: "/x", execution: 2, length: 9, reset: true}
	event := func(id int64, kind string) client.HistoryEvent {
		return client.HistoryEvent{ID: id, Kind: kind, Execution: 2}
	}
	end := event(5, "ActivityCompleted")
	for _, c := range []struct {
		step client.HistoryStep
		want string
	}{
		{client.HistoryStep{HistoryEvent: event(1, "ExecutionStarted")}, "1"},
		{client.HistoryStep{HistoryEvent: event(4, "ActivityScheduled")}, ""},
		{client.HistoryStep{HistoryEvent: event(4, "ActivityScheduled"), End: &end}, "5"},
		{client.HistoryStep{HistoryEvent: event(4, "EventReceived"), End: &end}, "4 5"},
		{client.HistoryStep{HistoryEvent: event(4, "MainReturned")}, ""},
		{client.HistoryStep{HistoryEvent: client.HistoryEvent{ID: 4, Kind: "EventReceived", Execution: 1}}, ""},
		{client.HistoryStep{HistoryEvent: event(9, "ExecutionCompleted")}, ""},
		{client.HistoryStep{HistoryEvent: event(9, "ExecutionTerminated")}, "9"},
		{client.HistoryStep{HistoryEvent: event(9, "NoSuchKind")}, ""},
	} {
		var got []string
		for _, at := range p.Of(c.step) {
			got = append(got, fmtInt(at.Event))
			if at.Reset != "/x/reset?event="+fmtInt(at.Event)+"&execution=2" || at.Fork != "" {
				t.Errorf("the links of %s are %+v", c.step.Kind, at)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s has the points %v, want %q", c.step.Kind, got, c.want)
		}
	}
	if end := p.End(); end == nil || end.Event != 10 {
		t.Errorf("the end is %+v", end)
	}
	if p.ended = true; p.End() != nil {
		t.Error("an instance that has ended is offered the point behind its end")
	}
}
