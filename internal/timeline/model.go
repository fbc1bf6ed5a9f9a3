package timeline

import (
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// Timeline is one execution of an instance over time.
type Timeline struct {
	ID        string        `json:"id"`
	Key       provider.UUID `json:"key"`
	Execution int64         `json:"execution"`
	Status    client.Status `json:"status"` // of the execution
	Begin     time.Time     `json:"begin,omitzero"`
	End       time.Time     `json:"end,omitzero"` // now if Open, by the storage's clock
	Open      bool          `json:"open"`         // it goes on
	Events    int64         `json:"events"`       // that the execution has
	NotRead   int64         `json:"notRead,omitempty"`
	Steps     int           `json:"steps"` // activities, timers, children and so on that were read
	Rows      []Row         `json:"rows"`
}

// Whole returns the length of the axis.
func (t *Timeline) Whole() time.Duration { return t.End.Sub(t.Begin) }

// Place returns where a time is on the axis, from 0 to 1.
func (t *Timeline) Place(at time.Time) float64 {
	whole := t.Whole()
	if whole <= 0 {
		return 0
	}
	return min(1, max(0, float64(at.Sub(t.Begin))/float64(whole)))
}

// State says how far what a row stands for has come.
type State string

// The states of rows.
const (
	Done    State = "done"
	Failed  State = "failed"
	GivenUp State = "given up" // its code asked for it no longer
	Open    State = "open"
	Unknown State = "unknown" // its end would be in the part of the history that was not read
)

// The kinds of rows. Steps of a history have the first ones.
const (
	KindActivity = "activity"
	KindTimer    = "timer"
	KindChild    = "child"
	KindUpdate   = "update"
	KindEvent    = "event"
	KindLocal    = "local activity"
	KindMark     = "execution" // a moment of the execution itself: started, reset, continued as new
	KindWait     = "wait"      // what it waits for now
	KindBlocked  = "blocked"
	KindGap      = "gap"  // events that were not read
	KindMore     = "more" // rows that were left out
)

// Row is a step, several that fold into one, or something that the instance waits for.
type Row struct {
	Kind     string        `json:"kind"`
	Name     string        `json:"name,omitempty"`
	Event    int64         `json:"event,omitempty"`    // that began it; of the first one of a group
	EndEvent int64         `json:"endEvent,omitempty"` // that ended it
	State    State         `json:"state"`
	Began    time.Time     `json:"began,omitzero"` // zero: not known
	Ended    time.Time     `json:"ended,omitzero"` // zero: it has not ended, or when is not known
	Attempt  int64         `json:"attempt,omitempty"`
	NotKept  int64         `json:"notKept,omitempty"` // attempts before those of Spans: the store keeps the last ten
	Next     time.Time     `json:"next,omitzero"`     // when an activity is tried next, or a timer is due
	Instance string        `json:"instance,omitempty"`
	Key      provider.UUID `json:"instanceKey,omitzero"`
	Detail   string        `json:"detail,omitempty"`  // more, in words
	Failure  string        `json:"failure,omitempty"` // the first line of why it failed, or its last attempt did
	Point    bool          `json:"point,omitempty"`   // it has no length
	Spans    []Span        `json:"spans,omitempty"`   // in order
	// Count is how many steps the row stands for, from 1. A group has the states of its steps, and some of them as Members: open and
	// failed ones first.
	Count   int           `json:"count"`
	States  map[State]int `json:"states,omitempty"`
	Members []Row         `json:"members,omitempty"`
}

// The kinds of spans.
const (
	SpanWhole   = "whole"    // from the call to the end, whose parts the store does not keep
	SpanQueued  = "queued"   // before the first attempt
	SpanAttempt = "attempt"  // one attempt
	SpanBackoff = "backoff"  // between two attempts
	SpanNotKept = "not kept" // attempts before the last ten
	SpanUnknown = "unknown"
	SpanRunning = "running" // an attempt whose begin is not stored
	SpanPaused  = "paused"
	SpanParked  = "parked"
	SpanWaiting = "waiting"
	SpanBlocked = "blocked"
)

// Span is a part of a bar.
type Span struct {
	Kind    string    `json:"kind"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"` // zero: it goes on
	Attempt int64     `json:"attempt,omitempty"`
	Node    string    `json:"node,omitempty"`
	Failed  bool      `json:"failed,omitempty"`
	Failure string    `json:"failure,omitempty"`
}

// Source is what a timeline is made of.
type Source struct {
	Of        client.Description // as Describe returns it; its AsOf is now
	Execution int64
	Status    client.Status         // of the execution
	Length    int64                 // of its history
	Head      []client.HistoryEvent // in order, from event 1
	Tail      []client.HistoryEvent // in order, up to the last one; empty if Head is all
}

// Current reports whether the execution is the current one, so that what the instance waits for belongs to it.
func (s *Source) Current() bool { return s.Execution == s.Of.Execution }

// ongoing reports whether the execution goes on.
func (s *Source) ongoing() bool {
	goes := s.Status == client.StatusRunning || s.Status == client.StatusSuspended
	return s.Current() && !s.Of.Status.Ended() && goes
}

// notRead returns how many events are between Head and Tail.
func (s *Source) notRead() int64 { return max(0, s.Length-int64(len(s.Head)+len(s.Tail))) }

// Options say what is shown, and how much.
type Options struct {
	MaxRows int                                       // 1 or more; 0: 200
	Text    func(text string) string                  // returns a text of an error as it is shown; nil: unchanged
	Part    func(text string) string                  // returns one of which the store may have the beginning only; nil: unchanged
	Waiting func(w *client.WaitingFor) (string, bool) // returns a text of a wait as it is shown, and false if it is hidden; nil: unchanged
	Wait    func(w *client.Wait) (text string)        // returns a wait in words; nil: its text
}

const (
	// defaultRows is Options.MaxRows.
	defaultRows = 200
	// maxMembers is how many members the groups of a timeline have, and each of them.
	maxMembers, groupMembers = 100, 10
	// foldFrom is how many steps of one name, one after the other, become a group.
	foldFrom = 5
	// maxFailure is how much of an error's first line a row has.
	maxFailure = 200
	// maxParts is how many spans a group has.
	maxParts = 60
)
