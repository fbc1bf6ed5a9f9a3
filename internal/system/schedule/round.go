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
	if err := m.check(ctx); err != nil {
		return err
	}
	if m.checked.Problem != "" {
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
		m.st.After, m.st.Jittered = m.checked.Plan.After, m.checked.Plan.Jittered
		m.over = m.checked.Plan.Next == nil
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

// takeEnded empties the mailbox. The ends that its events report are read from the store.
func (m *machine) takeEnded() {
	for {
		if _, ok, _ := m.ended.TryReceive(); !ok {
			return
		}
	}
}

// check computes the due times and reads the runs, by a local activity.
func (m *machine) check(ctx *orchestration.Context) error {
	m.now = ctx.Now()
	req := form.CheckRequest{
		ID: m.st.ID, Spec: m.st.Spec, Action: m.st.Action, Principal: m.st.Principal, After: m.st.After, Jittered: m.st.Jittered, Now: m.now, Idle: m.idle(),
	}
	if m.st.After.IsZero() { // it may have waited for a node since it was created
		req.Key = m.key
	}
	req.Action.Input = nil
	for _, r := range m.st.Running {
		req.Running = append(req.Running, r.Key)
	}
	if len(m.st.Backfills) > 0 {
		req.Backfill = &m.st.Backfills[0]
	}
	result, err := orchestration.CallLocalNamed[form.CheckResult](ctx, checkActivity, req, orchestration.WithQueue(queue),
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		result = form.CheckResult{Problem: check.Cut(err.Error(), maxDetail)}
	}
	m.checked = result
	if m.st.After.IsZero() {
		m.st.Created, m.st.After = result.Created, result.Created
	}
	return nil
}

// settleRuns drops the runs that have ended, whatever way.
func (m *machine) settleRuns() {
	m.st.Running = slices.DeleteFunc(m.st.Running, func(r form.Run) bool {
		status, known := m.checked.Runs[r.Key]
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

// schedule decides when the next round begins.
func (m *machine) schedule() {
	m.wakeAt = time.Time{}
	if next := m.checked.Plan.Next; next != nil && !m.idle() {
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
