package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// maxInvented is how many tasks a provider remembers for invented notices.
const maxInvented = 64

// InventNotices turns invented notices on or off. Each fetch, report or renewal of a task and each commit then causes a notice
// that an earlier task was cancelled, and one that its execution has ended.
func (p *Plan) InventNotices(invent bool) { p.set(&p.invents, invent) }

// Invent sends a notice, true or not, to the listeners.
func (p *Provider) Invent(n provider.Notice) {
	p.listeners.RLock()
	defer p.listeners.RUnlock()
	for fn := range p.notices {
		(*fn)(n)
	}
}

// Notify implements provider.Notifier.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) {
	p.listeners.Lock()
	if p.notices == nil {
		p.notices = make(map[*func(provider.Notice)]struct{})
	}
	p.notices[&fn] = struct{}{}
	p.listeners.Unlock()
	inner := func() {}
	if notifier, ok := provider.As[provider.Notifier](p.inner); ok {
		inner = notifier.Notify(func(n provider.Notice) {
			for range p.plan.tellings(n) {
				fn(n)
			}
		})
	}
	return func() {
		inner()
		p.listeners.Lock() // waits for a running fn
		defer p.listeners.Unlock()
		delete(p.notices, &fn)
	}
}

// tellings is the number of times that a notice is sent.
func (p *Plan) tellings(n provider.Notice) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf {
		return 0
	}
	switch v := p.judge(Notify, n, true); {
	case v.wake == nil && v.before == nil:
		return 1
	case v.before == nil && v.wake.Kind == DuplicateWake:
		return 2
	default:
		return 0
	}
}

// invents sends false notices about previously leased tasks, one task after the other.
func (p *Provider) invents() {
	p.plan.mu.Lock()
	invents, known := p.plan.invents, len(p.leased)
	var ref provider.TaskRef
	if invents && known > 0 {
		p.invented++
		ref = p.leased[p.invented%known]
	}
	p.plan.mu.Unlock()
	if invents && known > 0 {
		p.Invent(provider.Notice(ref))
		p.Invent(provider.Notice{Key: ref.Key, Execution: ref.Execution})
	}
}

// leases remembers a leased task.
func (p *Provider) leases(ref provider.TaskRef) {
	p.plan.mu.Lock()
	defer p.plan.mu.Unlock()
	if p.leased = append(p.leased, ref); len(p.leased) > maxInvented {
		p.leased = p.leased[1:]
	}
}

// CommitTurn implements provider.Provider.
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	p.invents()
	for i := range req.Tasks {
		if req.Tasks[i].Lease != nil {
			p.leases(provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: req.Tasks[i].EventID})
		}
	}
	return call(ctx, p, CommitTurn, req, p.inner.CommitTurn)
}

// ReportTasks implements provider.Provider.
func (p *Provider) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	p.invents()
	return call(ctx, p, ReportTasks, req, p.inner.ReportTasks)
}

// RenewTasks implements provider.Provider.
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	p.invents()
	return call(ctx, p, RenewTasks, req, p.inner.RenewTasks)
}
