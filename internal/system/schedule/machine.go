package schedule

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/check"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
)

const (
	// maxActions and maxAge bound an execution, so that a schedule moves on to newer code.
	maxActions = 100
	maxAge     = 30 * 24 * time.Hour
	// patience is the wait after a check that failed.
	patience = time.Minute
	// cancelGrace is how long a cancelled run may be suspended before the start that waits for it is given up.
	cancelGrace = time.Minute
)

// machine is one execution of a schedule.
type machine struct {
	st      *form.State
	key     string
	observe func(outcome observe.Outcome, n int64) // tells the Observer of due times, when the turn is stored
	ended   orchestration.Mailbox[orchestration.Ended]

	last    *orchestration.Future[orchestration.None] // of the rounds and updates so far
	timer   *orchestration.Future[orchestration.None] // that the main function waits for
	waiting int                                       // updates that have not returned
	dirty   bool                                      // an update has ended since the round began
	actions int
	began   time.Time

	now     time.Time // of the round
	checked form.CheckResult
	over    bool      // the specification names no further time
	wakeAt  time.Time // of the next round; zero: no time is known
}

// runInOrder runs fn when all rounds and updates before it have ended.
func (m *machine) runInOrder(ctx *orchestration.Context, fn func(*orchestration.Context) error) error {
	before := m.last
	f := ctx.Go(func(ctx *orchestration.Context) error {
		if before != nil {
			if _, err := before.Get(ctx); errors.Is(err, orchestration.ErrCancelled) {
				return err
			}
		}
		return fn(ctx)
	})
	m.last = &f
	_, err := f.Get(ctx)
	return err
}

// wake begins the next round at once.
func (m *machine) wake() {
	m.dirty = true
	if m.timer != nil {
		m.timer.Cancel()
	}
}

// idle reports whether no due time counts.
func (m *machine) idle() bool { return m.st.Paused || m.done() }

// done reports whether the limit of starts is reached.
func (m *machine) done() bool { return m.st.Spec.Limit > 0 && m.st.Counts.OfLimit >= m.st.Spec.Limit }

// pause stops due times until somebody resumes the schedule.
func (m *machine) pause(note string) {
	m.st.Paused, m.st.Note = true, note
	if w := m.st.Waiting; w != nil {
		m.st.Waiting = nil
		m.skip(w.Due, form.ReasonPaused, "")
	}
}

// skip notes a due time that has no run.
func (m *machine) skip(due time.Time, reason, detail string) {
	m.skipMany(form.Skipped{Due: due, Reason: reason, Detail: detail}, 1)
}

func (m *machine) skipMany(s form.Skipped, n int64) {
	if m.st.Counts.Skipped == nil {
		m.st.Counts.Skipped = make(map[string]int64)
	}
	m.st.Counts.Skipped[s.Reason] += n
	m.observe(outcomeOf(s.Reason), n)
	s.Detail = check.Cut(s.Detail, maxDetail)
	if n > 1 {
		s.Count = n
	}
	m.st.Skipped = keep(m.st.Skipped, s)
}

// outcomeOf returns what the Observer is told of a due time that has no run.
func outcomeOf(reason string) observe.Outcome {
	switch reason {
	case form.ReasonMissed:
		return observe.Missed
	case form.ReasonInUse, form.ReasonForbidden, form.ReasonRefused:
		return observe.Failed
	default:
		return observe.Skipped
	}
}

// keep puts an entry in front and drops the oldest beyond the limit.
func keep[T any](list []T, entry T) []T {
	list = slices.Insert(list, 0, entry)
	return list[:min(len(list), form.Kept)]
}

// show stores what others see.
func (m *machine) show(ctx *orchestration.Context) {
	v := form.View{State: *m.st, Next: m.checked.Upcoming, Done: m.done() || m.over, Problem: m.checked.Problem, Ahead: m.checked.Ahead, Looked: m.now}
	if m.checked.Refused != "" && v.Problem == "" {
		v.Problem = m.checked.Refused
	}
	v.InputSum, v.Action.Input, v.Jittered = form.Sum(m.st.Action.Input), nil, nil
	v.Runs = len(v.Running)
	v.Running = v.Running[:min(v.Runs, 2*form.Kept)]
	orchestration.SetValue(ctx, form.ValueKey, v)
}

func (m *machine) skipped(t form.Triggered, reason, detail string) form.Triggered {
	m.skip(t.Due, reason, detail)
	t.Reason, t.Detail = reason, detail
	return t
}

// free returns how many runs may begin beside those that go on.
func (m *machine) free() int { return m.st.Spec.Running() - len(m.st.Running) }
