package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

func historyTable(w *grid, events []client.HistoryEvent) {
	row(w, "EVENT", "TIME", "KIND", "DETAIL")
	start := time.Time{}
	say := newEventDescriber(eventLimit)
	for i := range events {
		e := &events[i]
		at := fmt.Sprintf("+%.3fs", e.Time.Sub(start).Seconds())
		if i == 0 {
			start = e.Time
			at = millis(e.Time)
		}
		row(w, e.ID, at, e.Kind, say.text(e))
		for j := range e.Attempts {
			row(w, "", "", fmt.Sprintf("attempt %d", e.Attempts[j].Number), attemptText(&e.Attempts[j]))
		}
	}
}

// compactTable prints the steps of a history.
func compactTable(w *grid, steps []client.HistoryStep) {
	row(w, "EVENT", "END", "TIME", "TOOK", "STEP", "DETAIL")
	start := time.Time{}
	say := newEventDescriber(eventLimit)
	for i := range steps {
		s := &steps[i]
		at := fmt.Sprintf("+%.3fs", s.Time.Sub(start).Seconds())
		if i == 0 {
			start, at = s.Time, millis(s.Time)
		}
		end, took, text := "-", "-", say.text(&s.HistoryEvent)
		switch {
		case s.End != nil:
			outcome := *s.End
			outcome.Ref, outcome.Attempts = 0, nil
			end, took = fmt.Sprint(s.End.ID), fmt.Sprintf("+%.3fs", s.Took.Seconds())
			text = strings.TrimSpace(text + " " + say.text(&outcome))
		case s.EndUnknown:
			took = "not known"
		case s.Pending():
			took = "pending"
		}
		row(w, s.ID, end, at, took, stepText(s), text)
	}
}

// stepText names a step by its end, which says how it went.
func stepText(s *client.HistoryStep) string {
	if s.End != nil {
		return s.End.Kind
	}
	return s.Kind
}

// millis returns a time with milliseconds.
func millis(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
