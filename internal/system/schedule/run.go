package schedule

import (
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
)

// run is version 1 of the orchestration. Its commands must not change: later code is a version of its own.
func run(ctx *orchestration.Context, st form.State) (orchestration.None, error) {
	info := ctx.Info()
	m := &machine{
		st: &st, key: info.Key, began: info.Started, ended: orchestration.Events[orchestration.Ended](ctx, form.EndedEvent),
	}
	m.observe = func(outcome observe.Outcome, n int64) {
		bind.Note(ctx, replay.Note{Name: m.st.Action.Orchestration, Outcome: string(outcome), Count: n})
	}
	m.handle(ctx)
	for {
		if err := m.runInOrder(ctx, m.round); err != nil {
			return orchestration.None{}, err
		}
		if m.mayContinue(ctx) {
			// Updates that came with the last message begin here, and hold the end up.
			if err := m.runInOrder(ctx, func(*orchestration.Context) error { return nil }); err != nil {
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

// mayContinue reports whether the execution is old enough to be replaced, and no update is in progress.
func (m *machine) mayContinue(ctx *orchestration.Context) bool {
	old := m.actions >= maxActions || !ctx.Now().Before(m.began.Add(maxAge)) || ctx.Info().ContinueAsNewSuggested
	return old && m.waiting == 0
}

// continueAsNew keeps the version unless the node that looked last allows a newer one: nodes of the release before run it, too.
func (m *machine) continueAsNew(ctx *orchestration.Context) error {
	if m.checked.Newer {
		return orchestration.ContinueAsNew(ctx, m.st) //perdure:ok no update is in progress, and none begins before the return
	}
	return orchestration.ContinueAsNew(ctx, m.st, orchestration.KeepVersion()) //perdure:ok likewise
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

// V1 is the first version of the orchestration.
func V1() func(*orchestration.Context, form.State) (orchestration.None, error) {
	return orchestration.Define(reserved.Schedule, run, orchestration.Version("1"))
}
