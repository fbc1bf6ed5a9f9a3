package schedule

import (
	"errors"
	"fmt"
	"time"

	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/orchestration"
)

// handle registers the updates.
func (m *machine) handle(ctx *orchestration.Context) {
	on(ctx, m, form.UpdatePause, func(_ *orchestration.Context, p form.Pause) (orchestration.None, error) {
		m.pause(p.Note)
		return orchestration.None{}, nil
	})
	on(ctx, m, form.UpdateResume, func(ctx *orchestration.Context, p form.Pause) (orchestration.None, error) {
		if m.st.Paused { // due times of the pause are not caught up
			m.st.Resume(ctx.Now())
			m.st.Counts.InARow = 0
		}
		m.st.Note = p.Note
		return orchestration.None{}, nil
	})
	on(ctx, m, form.UpdateChange, m.change)
	on(ctx, m, form.UpdateTrigger, m.trigger)
	on(ctx, m, form.UpdateBackfill, func(_ *orchestration.Context, b form.Backfill) (orchestration.None, error) {
		if len(m.st.Backfills) >= form.Kept {
			return orchestration.None{}, fmt.Errorf("%d backfills wait: try again when some are done", form.Kept)
		}
		m.st.Backfills = append(m.st.Backfills, b)
		return orchestration.None{}, nil
	})
}

// on registers the handler of an update, which runs alone and is followed by a round.
func on[In, Out any](ctx *orchestration.Context, m *machine, name string, fn func(*orchestration.Context, In) (Out, error)) {
	orchestration.HandleUpdate(ctx, name, func(ctx *orchestration.Context, in In) (out Out, err error) {
		m.waiting++
		m.actions++
		err = m.runInOrder(ctx, func(ctx *orchestration.Context) (err error) {
			out, err = fn(ctx, in)
			m.show(ctx)
			return err
		})
		m.waiting--
		m.wake()
		return out, err
	})
}

var (
	errRevision = errors.New(form.Conflict)
	errDone     = errors.New("the limit of starts is reached: raise it")
)

// change replaces the specification, and the action if one is given.
func (m *machine) change(ctx *orchestration.Context, c form.Change) (int64, error) {
	if c.Revision != 0 && c.Revision != m.st.Revision {
		return 0, errRevision
	}
	if c.Revision == 0 && m.st.Matches(&c) {
		return m.st.Revision, nil // a service has declared the same again
	}
	if c.Spec.Limit != m.st.Spec.Limit {
		m.st.Counts.OfLimit = 0
	}
	m.st.Change(&c.Spec, ctx.Now())
	if c.Action != nil {
		m.st.Action, m.st.Principal = *c.Action, c.Principal
	}
	m.st.Revision++
	return m.st.Revision, nil
}

// trigger starts a run now, as the overlap allows.
func (m *machine) trigger(ctx *orchestration.Context, t form.Trigger) (form.Triggered, error) {
	if m.done() {
		return form.Triggered{}, errDone
	}
	if err := m.check(ctx); err != nil {
		return form.Triggered{}, err
	}
	if m.checked.Problem != "" {
		return form.Triggered{}, errors.New(m.checked.Problem)
	}
	m.settleRuns()
	return m.due(ctx, m.now.Truncate(time.Second), t.Update)
}
