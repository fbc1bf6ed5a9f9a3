package orchestration_test

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
)

// Each handler that ends too late for the next execution is logged and counted once, with its kind, its name and its event, whatever is
// replayed. So is the update whose caller is told ErrNotCarried. The late form logs and counts nothing.
func TestLateHandlersAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	const line = "a handler ended after the input of the next execution was made"
	for name, c := range map[string]struct {
		roll func(ctx *octx, t *tally) error
		late int
		told error
	}{"plain": {plain, 3, client.ErrNotCarried}, "late": {late, 0, nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				var log lines
				e.Options.Logger = slog.New(slog.NewTextHandler(&log, nil))
				rt, h, gate := startLedger(e, ledger(c.roll))
				updates := []client.UpdateHandle[int]{askAdd(e, h, 1), askAdd(e, h, 2)}
				raise(e, h, "put", 3)
				raise(e, h, "roll", none{})
				close(gate)
				for i, u := range updates {
					if _, err := outcomeOf(e, u); !errors.Is(err, c.told) {
						e.T.Errorf("update %d: %v, want %v", i+1, err, c.told)
					}
				}
				e.Until("it continues", func() bool { return e.Get(h.Key()).Execution == 2 })
				e.Raise(h.Key(), "stop", none{})
				e.WaitEnded(h.Key())
				enginetest.Replays(e, h)
				e.Until("the late handlers are counted", func() bool { return rt.Stats().HandlersLate == int64(c.late) }) // after the commit
				if got := log.count(line); got != c.late {
					e.T.Errorf("%d lines, want %d:\n%s", got, c.late, log.text())
				}
				if c.late > 0 {
					namesItsHandlers(e, h, &log, line)
				}
			})
		})
	}
}

// namesItsHandlers demands a line for each message that began a late handler, with what mends it.
func namesItsHandlers(e *enginetest.Engine, h client.Handle[[]int], log *lines, line string) {
	e.T.Helper()
	for _, event := range e.History(h.Key(), 1) {
		want := ""
		switch b := event.Body.(type) {
		case *history.UpdateReceived:
			want = "kind=update name=add"
		case *history.EventReceived:
			if b.Name == "put" {
				want = "kind=event name=put"
			}
		}
		if want == "" {
			continue
		}
		found := 0
		for got := range strings.Lines(log.text()) {
			if strings.Contains(got, line) && strings.Contains(got, "level=WARN") && strings.Contains(got, "use ContinueAsNewAfterHandlers") &&
				strings.Contains(got, want+" event_id="+strconv.FormatInt(event.ID, 10)+"\n") {
				found++
			}
		}
		if found != 1 {
			e.T.Errorf("%d lines tell of event %d, %s:\n%s", found, event.ID, want, log.text())
		}
	}
}

// text returns what was written.
func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
