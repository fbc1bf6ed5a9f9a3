package schedule

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/check"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/orchestration"
)

// maxDetail bounds a text of the schedule in bytes, so that what it shows fits into a value.
const maxDetail = 512

// round does all that is to do now, and decides when the next one begins.
func (m *machine) round(ctx *orchestration.Context) error {
	m.dirty = false
	m.takeEnded()
	if err := m.look(ctx); err != nil {
		return err
	}
	if m.seen.Problem != "" {
		m.st.Counts.Problems++
		m.wakeAt = m.now.Add(patience)
		m.show(ctx)
		return nil
	}
	m.settleRuns()
	m.giveUpWaiting()
	if !m.idle() {
		if err := m.tick(ctx); err != nil {
			return err
		}
		m.st.After = m.seen.Plan.After
		m.over = m.seen.Plan.Next == nil
	}
	if err := m.startWaiting(ctx); err != nil {
		return err
	}
	if err := m.startBackfills(ctx); err != nil {
		return err
	}
	m.schedule()
	m.show(ctx)
	return nil
}

// takeEnded empties the mailbox. What the events say is read from the store.
func (m *machine) takeEnded() {
	for {
		if _, ok, _ := m.ended.TryReceive(); !ok {
			return
		}
	}
}

// idle reports whether no due time counts.
func (m *machine) idle() bool { return m.st.Paused || m.done() }

// done reports whether the limit of starts is reached.
func (m *machine) done() bool { return m.st.Spec.Limit > 0 && m.st.Counts.OfLimit >= m.st.Spec.Limit }

// look computes the due times and reads the runs, by a local activity.
func (m *machine) look(ctx *orchestration.Context) error {
	m.now = ctx.Now()
	req := form.Look{
		ID: m.st.ID, Spec: m.st.Spec, Action: m.st.Action, Principal: m.st.Principal, After: m.st.After, Now: m.now, Idle: m.idle(),
	}
	req.Action.Input = nil
	for _, r := range m.st.Running {
		req.Running = append(req.Running, r.Key)
	}
	if len(m.st.Backfills) > 0 {
		req.Backfill = &m.st.Backfills[0]
	}
	seen, err := orchestration.CallLocalNamed[form.Seen](ctx, lookActivity, req, orchestration.WithQueue(queue),
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		seen = form.Seen{Problem: check.Cut(err.Error(), maxDetail)}
	}
	m.seen = seen
	return nil
}

// settleRuns drops the runs that have ended, whatever way.
func (m *machine) settleRuns() {
	m.st.Running = slices.DeleteFunc(m.st.Running, func(r form.Run) bool {
		status, known := m.seen.Runs[r.Key]
		if !known || status == "Running" || status == "Suspended" {
			return false
		}
		if r.Status = status; status == "" {
			r.Status = "Deleted"
		}
		m.st.Ended = keep(m.st.Ended, r)
		switch status {
		case "Failed":
			m.st.Counts.Failed++
			m.st.Counts.InARow++
		case "Completed":
			m.st.Counts.InARow = 0
		}
		return true
	})
	if n := m.st.Spec.PauseAfterFailures; n > 0 && m.st.Counts.InARow >= n && !m.st.Paused {
		m.pause("paused by itself: as many runs in a row have failed as PauseAfterFailures says")
	}
}

// pause stops due times until somebody resumes the schedule.
func (m *machine) pause(note string) {
	m.st.Paused, m.st.Note = true, note
	if w := m.st.Waiting; w != nil {
		m.st.Waiting = nil
		m.skip(w.Due, form.ReasonPaused, "")
	}
}

// giveUpWaiting drops a start whose run before was cancelled and cannot hear it.
func (m *machine) giveUpWaiting() {
	w := m.st.Waiting
	if w == nil || w.Cancelled.IsZero() || m.now.Before(w.Cancelled.Add(cancelGrace)) {
		return
	}
	for _, r := range m.st.Running {
		if m.seen.Runs[r.Key] == "Suspended" {
			m.st.Waiting = nil
			m.skip(w.Due, form.ReasonSuspended, r.ID)
			return
		}
	}
}

// schedule decides when the next round begins.
func (m *machine) schedule() {
	m.wakeAt = time.Time{}
	if next := m.seen.Plan.Next; next != nil && !m.idle() {
		m.wakeAt = next.At
	}
	if w := m.st.Waiting; w != nil && !w.Cancelled.IsZero() {
		if at := w.Cancelled.Add(cancelGrace); at.After(m.now) && (m.wakeAt.IsZero() || at.Before(m.wakeAt)) {
			m.wakeAt = at
		}
	}
	if len(m.st.Backfills) > 0 && m.free() > 0 {
		m.wakeAt = m.now
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
	s.Detail = check.Cut(s.Detail, maxDetail)
	if n > 1 {
		s.Count = n
	}
	m.st.Skipped = keep(m.st.Skipped, s)
}

// keep puts an entry in front and drops the oldest beyond the limit.
func keep[T any](list []T, entry T) []T {
	list = slices.Insert(list, 0, entry)
	return list[:min(len(list), form.Kept)]
}

// show stores what others see.
func (m *machine) show(ctx *orchestration.Context) {
	v := form.View{State: *m.st, Next: m.seen.Upcoming, Done: m.done() || m.over, Problem: m.seen.Problem, Ahead: m.seen.Ahead, Looked: m.now}
	if m.seen.Refused != "" && v.Problem == "" {
		v.Problem = m.seen.Refused
	}
	v.InputSum, v.Action.Input = form.Sum(m.st.Action.Input), nil
	v.Runs = len(v.Running)
	v.Running = v.Running[:min(v.Runs, 2*form.Kept)]
	orchestration.SetValue(ctx, form.ValueKey, v)
}
