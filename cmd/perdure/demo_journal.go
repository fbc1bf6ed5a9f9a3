package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/client"
)

// The sources of lines of a journal.
const (
	fromProcess  = "process"
	fromActivity = "activity"
	fromHistory  = "history"
	fromClient   = "client"
)

// settleTime is the maximum delay of a line that is still printed in order. The history is polled, while processes
// send notices at once.
const settleTime = 250 * time.Millisecond

// journalLimit is the length to which a line cuts a payload.
const journalLimit = 60

// journal prints the events of several processes in order of time.
type journal struct {
	mu      sync.Mutex
	out     io.Writer
	begun   time.Time
	lines   []journalLine       // not yet printed
	noticed map[int64]time.Time // time of the last notice from the activity of an event
	last    time.Time           // latest line of the history
	say     *eventDescriber
}

type journalLine struct {
	at   time.Time
	from string
	text string
}

func newJournal(out io.Writer) *journal {
	return &journal{out: out, begun: time.Now(), noticed: make(map[int64]time.Time), say: newEventDescriber(journalLimit)}
}

// addf adds a line.
func (t *journal) addf(at time.Time, from, format string, args ...any) {
	t.mu.Lock()
	text := strings.TrimRight(plain(fmt.Sprintf(format, args...)), " ")
	t.lines = append(t.lines, journalLine{at, from, text})
	t.mu.Unlock()
}

// activity adds a line from the activity that an event scheduled.
func (t *journal) activity(at time.Time, event int64, text string) {
	t.mu.Lock()
	t.noticed[event] = at
	t.mu.Unlock()
	t.addf(at, fromActivity, "%s", text)
}

// event adds an event of the history. The storage reads its clock when a transaction begins, so an outcome can be a
// millisecond older than the activity's last notice. It is printed after that notice.
func (t *journal) event(e *client.HistoryEvent) {
	t.mu.Lock()
	at := e.Time
	for _, other := range []time.Time{t.last, t.noticed[e.Ref]} {
		if at.Before(other) {
			at = other
		}
	}
	t.last = at
	t.mu.Unlock()
	t.addf(at, fromHistory, "%2d %-18s %s", e.ID, e.Kind, t.say.text(e))
}

// print writes the lines before the given time.
func (t *journal) print(before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.lines, func(a, b journalLine) int {
		return cmp.Compare(a.at.UnixMicro(), b.at.UnixMicro())
	})
	n := 0
	for n < len(t.lines) && t.lines[n].at.Before(before) {
		line := t.lines[n]
		fmt.Fprintf(t.out, "%8.3fs  %-8s  %s\n", line.at.Sub(t.begun).Seconds(), line.from, line.text)
		n++
	}
	t.lines = slices.Delete(t.lines, 0, n)
}

// settled prints the lines that no later line can precede.
func (t *journal) settled() { t.print(time.Now().Add(-settleTime)) }

// finish prints all remaining lines.
func (t *journal) finish() { t.print(time.Now().Add(time.Hour)) }
