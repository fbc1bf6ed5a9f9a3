package programs

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// mortal is one node's view of the store. The node dies at a step that is drawn in advance. After that nothing from it
// reaches the store and no reply reaches it, as after kill -9. Its leases stay until they expire.
type mortal struct {
	*faulty.Provider

	plan *faulty.Plan
	died chan struct{}

	mu    sync.Mutex
	steps int  // until it dies
	after bool // the last step is stored, and only its reply is lost
}

func newMortal(store provider.Provider, r *rand.Rand) *mortal {
	plan := faulty.NewPlan(0)
	return &mortal{
		Provider: faulty.Wrap(store, plan), plan: plan, died: make(chan struct{}),
		steps: 1 + r.IntN(12), after: r.IntN(2) == 0,
	}
}

// step counts a step and reports whether it is the last.
func (m *mortal) step() (last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps--
	return m.steps == 0
}

// spare keeps a node alive. It returns false if the node is already dead.
func (m *mortal) spare() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.steps <= 0
	m.steps = -1
	return !late
}

func (m *mortal) die() {
	m.plan.DropNotices(true)
	m.plan.StartOutage()
	close(m.died)
}

func (m *mortal) dead() bool {
	select {
	case <-m.died:
		return true
	default:
		return false
	}
}

// living makes one call of the node. Only calls that fetch or store something count as steps.
func living[Req, Res any](
	ctx context.Context, m *mortal, req Req, call func(context.Context, Req) (Res, error), step func(Res) bool,
) (Res, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.died:
			cancel() // the node no longer waits
		case <-ctx.Done():
		}
	}()
	var none Res
	last := false
	if step == nil {
		if last = m.step(); last && !m.after {
			m.die()
		}
	}
	res, err := call(ctx, req)
	if step != nil && err == nil && step(res) {
		last = m.step()
	}
	if last && !m.dead() {
		m.die()
	}
	if m.dead() {
		return none, &provider.Error{Op: "call", Outcome: provider.OutcomeUnknown, Retryable: true, Err: faulty.ErrInjected}
	}
	return res, err
}

// CommitTurn implements provider.Provider.
func (m *mortal) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return living(ctx, m, req, m.Provider.CommitTurn, nil)
}

// ReportTasks implements provider.Provider.
func (m *mortal) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return living(ctx, m, req, m.Provider.ReportTasks, nil)
}

// FetchTurns implements provider.Provider.
func (m *mortal) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return living(ctx, m, req, m.Provider.FetchTurns, func(r provider.FetchTurnsResult) bool { return len(r.Turns) > 0 })
}

// FetchTasks implements provider.Provider.
func (m *mortal) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return living(ctx, m, req, m.Provider.FetchTasks, func(r provider.FetchTasksResult) bool { return len(r.Tasks) > 0 })
}
