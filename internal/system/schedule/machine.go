package schedule

import (
	"errors"
	"time"

	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/orchestration"
)

const (
	// maxActions and maxAge bound an execution, so that a schedule moves on to newer code.
	maxActions = 100
	maxAge     = 30 * 24 * time.Hour
	// patience is the wait after a look that failed.
	patience = time.Minute
	// cancelGrace is how long a cancelled run may be suspended before the start that waits for it is given up.
	cancelGrace = time.Minute
)

// machine is one execution of a schedule.
type machine struct {
	st    *form.State
	key   string
	ended orchestration.Mailbox[orchestration.Ended]

	last    *orchestration.Future[orchestration.None] // of the rounds and updates so far
	timer   *orchestration.Future[orchestration.None] // that the main function waits for
	waiting int                                       // updates that have not returned
	dirty   bool                                      // an update has ended since the round began
	actions int
	began   time.Time

	now    time.Time // of the round
	seen   form.Seen
	over   bool      // the specification names no further time
	wakeAt time.Time // of the next round; zero: no time is known
}

// run is version 1 of the orchestration. Its commands must not change: later code is a version of its own.
func run(ctx *orchestration.Context, st form.State) (orchestration.None, error) {
	info := ctx.Info()
	if st.After.IsZero() {
		st.Created, st.After = info.Started, info.Started
	}
	m := &machine{
		st: &st, key: info.Key, began: info.Started, ended: orchestration.Events[orchestration.Ended](ctx, form.EndedEvent),
	}
	m.handle(ctx)
	for {
		if err := m.alone(ctx, m.round); err != nil {
			return orchestration.None{}, err
		}
		if m.mayContinue(ctx) {
			// Updates that came with the last message begin here, and hold the end up.
			if err := m.alone(ctx, func(*orchestration.Context) error { return nil }); err != nil {
				return orchestration.None{}, err
			}
			if m.mayContinue(ctx) {
				return orchestration.None{}, m.continueAsNew(ctx)
			}
		}
		if err := m.wait(ctx); err != nil {
			return orchestration.None{}, err
		}
	}
}

// alone runs fn when all rounds and updates before it have ended.
func (m *machine) alone(ctx *orchestration.Context, fn func(*orchestration.Context) error) error {
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

// mayContinue reports whether the execution is old enough to be replaced, and no update is in progress.
func (m *machine) mayContinue(ctx *orchestration.Context) bool {
	old := m.actions >= maxActions || !ctx.Now().Before(m.began.Add(maxAge)) || ctx.Info().ContinueAsNewSuggested
	return old && m.waiting == 0
}

// continueAsNew keeps the version unless the node that looked last allows a newer one: nodes of the release before run it, too.
func (m *machine) continueAsNew(ctx *orchestration.Context) error {
	if m.seen.Newer {
		return orchestration.ContinueAsNew(ctx, m.st)
	}
	return orchestration.ContinueAsNew(ctx, m.st, orchestration.KeepVersion())
}

// wait waits for the next round: a time, the end of a run, or an update.
func (m *machine) wait(ctx *orchestration.Context) error {
	if m.dirty {
		return nil
	}
	until := m.began.Add(maxAge)
	if !m.wakeAt.IsZero() && m.wakeAt.Before(until) {
		until = m.wakeAt
	}
	timer := orchestration.StartTimer(ctx, max(until.Sub(ctx.Now()), 0))
	m.timer = &timer
	_, err := orchestration.Select(ctx, timer, m.ended)
	timer.Cancel()
	m.timer = nil
	return err
}

// wake begins the next round at once.
func (m *machine) wake() {
	m.dirty = true
	if m.timer != nil {
		m.timer.Cancel()
	}
}
