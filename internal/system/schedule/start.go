package schedule

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
)

// tick starts the due times of the round, or says why not.
func (m *machine) tick(ctx *orchestration.Context) error {
	plan := &m.checked.Plan
	if plan.Missed > 0 {
		m.skipMany(form.Skipped{Due: plan.Last, Reason: form.ReasonMissed}, plan.Missed)
	}
	for _, d := range plan.Start {
		if m.done() {
			return nil
		}
		if _, err := m.due(ctx, d.Time, ""); err != nil {
			return err
		}
	}
	return nil
}

// due starts a run, or lets it wait, or skips it, as the overlap says. more is that of reserved.RunID.
func (m *machine) due(ctx *orchestration.Context, due time.Time, more string) (form.Triggered, error) {
	t := form.Triggered{Due: due}
	if m.checked.Refused != "" {
		return m.skipped(t, form.ReasonForbidden, m.checked.Refused), nil
	}
	if m.free() > 0 && m.st.Waiting == nil {
		return m.start(ctx, due, more)
	}
	for i := range m.st.Running {
		m.st.Running[i].Blocked++
	}
	before := ""
	if len(m.st.Running) > 0 {
		before = m.st.Running[0].ID
	}
	switch waiting := m.st.Waiting; m.st.Spec.Overlap {
	case form.BufferOne:
		if waiting != nil {
			return m.skipped(t, form.ReasonWaiting, before), nil
		}
		m.st.Waiting = &form.Pending{Due: due, More: more}
		m.observe(observe.Buffered, 1)
	case form.CancelOther:
		next := &form.Pending{Due: due, More: more, Cancelled: m.now}
		if waiting != nil { // the newer one counts, and the run before was cancelled already
			next.Cancelled = waiting.Cancelled
			m.skip(waiting.Due, form.ReasonWaiting, before)
		}
		m.st.Waiting = next
		m.observe(observe.Buffered, 1)
		if waiting == nil {
			m.cancelRuns(ctx)
		}
		m.giveUpWaiting()
		if m.st.Waiting == nil {
			t.Reason, t.Detail = form.ReasonSuspended, before
			return t, nil
		}
	case form.AllowAll:
		return m.skipped(t, form.ReasonLimit, before), nil
	default:
		return m.skipped(t, form.ReasonRunning, before), nil
	}
	t.Reason, t.Detail = form.ReasonWaiting, before
	return t, nil
}

// cancelRuns asks the runs to stop. A refusal means that one has ended, which the next round sees.
func (m *machine) cancelRuns(ctx *orchestration.Context) {
	for _, r := range m.st.Running {
		orchestration.Instance{ID: r.ID, Key: r.Key}.Cancel(ctx, "schedule "+m.st.ID+" starts its next run")
	}
}

// start starts a run in the commit of this turn.
func (m *machine) start(ctx *orchestration.Context, due time.Time, more string) (form.Triggered, error) {
	t := form.Triggered{Due: due}
	opts := []orchestration.DetachedOption{
		orchestration.WithInstanceID(reserved.RunID(m.st.ID, due, more)),
		orchestration.WithRequestID(reserved.RunRequest(m.key, due, more)),
		orchestration.TellEnd(form.EndedEvent),
	}
	if m.checked.Version != "" {
		opts = append(opts, orchestration.Version(m.checked.Version))
	}
	m.actions++
	instance, err := orchestration.StartDetachedNamed(ctx, m.st.Action.Orchestration, m.st.Action.Input, opts...).Get(ctx)
	switch {
	case ctx.Err() != nil:
		return t, ctx.Err()
	case errors.Is(err, orchestration.ErrExists):
		return m.skipped(t, form.ReasonInUse, reserved.RunID(m.st.ID, due, more)), nil
	case err != nil:
		return m.skipped(t, form.ReasonRefused, err.Error()), nil
	}
	t.Run = form.Run{ID: instance.ID, Key: instance.Key, Due: due, Started: m.now}
	m.st.Running = append(m.st.Running, t.Run)
	m.st.Counts.Started++
	m.st.Counts.OfLimit++
	return t, nil
}

// startWaiting starts the run that waits, if it may.
func (m *machine) startWaiting(ctx *orchestration.Context) error {
	w := m.st.Waiting
	if w == nil || m.free() < 1 {
		return nil
	}
	m.st.Waiting = nil
	if m.done() {
		return nil
	}
	_, err := m.due(ctx, w.Due, w.More)
	return err
}

// startBackfills starts as many due times of the first backfill as may go on at a time.
func (m *machine) startBackfills(ctx *orchestration.Context) error {
	if len(m.st.Backfills) == 0 {
		return nil
	}
	b := &m.st.Backfills[0]
	if len(m.checked.Backfill) == 0 || b.Left == 0 || m.done() {
		m.st.Backfills = m.st.Backfills[1:]
		return nil
	}
	for _, due := range m.checked.Backfill {
		if m.free() < 1 || m.st.Waiting != nil || b.Left == 0 {
			return nil
		}
		if _, err := m.due(ctx, due, b.Update); err != nil {
			return err
		}
		b.After = due
		b.Left--
	}
	return nil
}

// giveUpWaiting drops a start whose run before was cancelled and cannot hear it.
func (m *machine) giveUpWaiting() {
	w := m.st.Waiting
	if w == nil || w.Cancelled.IsZero() || m.now.Before(w.Cancelled.Add(cancelGrace)) {
		return
	}
	for _, r := range m.st.Running {
		if m.checked.Runs[r.Key] == "Suspended" {
			m.st.Waiting = nil
			m.skip(w.Due, form.ReasonSuspended, r.ID)
			return
		}
	}
}
