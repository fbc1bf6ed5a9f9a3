package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Steer implements provider.Provider.
func (p *Provider) Steer(ctx context.Context, req provider.SteerRequest) (res provider.SteerResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		i, err := p.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if i.row.Version != req.Commit {
			if err := p.steer(i, &req, now); err != nil {
				return err
			}
			i.row.Version, i.row.UpdatedAt = req.Commit, now
			p.write()
		}
		res = provider.SteerResult{Instance: i.view(), Now: now}
		return nil
	})
	return res, err
}

func (p *Provider) steer(i *instance, req *provider.SteerRequest, now provider.Time) error {
	if i.row.Status.Ended() && req.Action != provider.SteerReset {
		return provider.ErrEnded
	}
	if now := p.current[i.row.ID]; req.Action == provider.SteerReset && now != i { // two live instances under one ID
		if now == nil {
			return provider.ErrEnded
		}
		return exists(now)
	}
	if req.Event != nil {
		i.execution().add(req.Event)
	}
	switch req.Action {
	case provider.SteerSuspend:
		i.row.Status = provider.StatusSuspended
	case provider.SteerResume:
		i.row.Status = provider.StatusRunning
	case provider.SteerUnblock:
		i.row.Blocked, i.row.Deliveries, i.heldUntil = nil, 0, 0
	case provider.SteerTerminate:
		p.end(i, provider.StatusTerminated, req.Result, "the instance was terminated", now)
		p.tellFamily(i, req, now)
	case provider.SteerReset:
		p.reset(i, req, now)
	}
	return nil
}

// end closes the instance: nothing of its execution stays but the history.
func (p *Provider) end(i *instance, status provider.Status, result []byte, reason string, now provider.Time) {
	p.dropWork(i)
	for _, m := range p.remove(i, func(provider.Message) bool { return true }) {
		p.bury(letterOf(i, m), reason, now)
	}
	i.row.Status, i.row.Result, i.row.EndedAt = status, slices.Clone(result), now
	i.row.Blocked, i.row.Deliveries = nil, 0
	i.lease, i.leaseUntil, i.wokenAt = provider.UUID{}, 0, 0
	delete(p.live, i.row.Key)
}

// dropWork removes the tasks and timers of the current execution and tells the nodes
// that run them.
func (p *Provider) dropWork(i *instance) {
	for ref := range p.tasks {
		if ref.Key == i.row.Key {
			delete(p.tasks, ref)
		}
	}
	p.remove(i, isTimer)
	p.notice(i.row.Key, i.row.Execution, 0)
}

// tellFamily delivers the notices of a termination.
func (p *Provider) tellFamily(i *instance, req *provider.SteerRequest, now provider.Time) {
	if parent := p.live[i.row.Parent.Key]; parent != nil && req.ParentNotice != nil && parent.row.Execution == i.row.Parent.Execution {
		notice := *req.ParentNotice
		notice.Execution, notice.EventID = i.row.Parent.Execution, i.row.Parent.EventID
		p.put(parent, notice, now)
	}
	if req.ChildNotice == nil {
		return
	}
	for _, child := range p.children[i.row.Key] {
		if !child.row.Status.Ended() && child.row.Parent.Close == provider.CloseCancel {
			p.put(child, *req.ChildNotice, now)
		}
	}
}

// reset opens the next execution. It is ready at once, even with an empty inbox: the
// request brings no message that would wake it.
func (p *Provider) reset(i *instance, req *provider.SteerRequest, now provider.Time) {
	p.dropWork(i)
	if i.row.Status.Ended() {
		i.execution().status = i.row.Status
	} else {
		i.execution().status = provider.StatusReset
	}
	i.open(req.EngineLevel, req.Events)
	i.row.Status, i.row.Result, i.row.EndedAt = provider.StatusRunning, nil, 0
	i.row.Blocked, i.row.Deliveries = nil, 0
	if at := i.readyAt(); at == 0 || at > now {
		i.wokenAt = now
	}
	i.lease, i.leaseUntil, i.heldUntil = provider.UUID{}, 0, 0
	i.owner, i.ownerUntil = "", 0
	p.live[i.row.Key] = i
}
