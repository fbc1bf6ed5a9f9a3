package memory

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Steer implements provider.Provider.
func (tn *turns) Steer(ctx context.Context, req provider.SteerRequest) (res provider.SteerResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i, err := tn.instances.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if err := i.free(); err != nil {
			return err
		}
		if i.row.Version != req.Commit && !i.hasRequest(req.RequestID) {
			if err := tn.steer(i, &req, now); err != nil {
				return err
			}
			i.row.Version, i.row.UpdatedAt = req.Commit, now
			i.addRequest(req.RequestID)
			tn.write()
		}
		res = provider.SteerResult{Instance: i.view(), Now: now}
		return nil
	})
	return res, err
}

// checkSteer refuses an action that the instance does not allow.
func (tn *turns) checkSteer(i *instance, req *provider.SteerRequest) error {
	if i.row.Status.Ended() && req.Action != provider.SteerReset {
		return provider.ErrEnded
	}
	if now := tn.instances.current[i.row.ID]; req.Action == provider.SteerReset && now != i { // two live instances under one ID
		if now == nil {
			return provider.ErrEnded
		}
		return exists(now)
	}
	if !req.Expected.IsZero() && i.row.Version != req.Expected {
		return provider.ErrConflict
	}
	if req.Name != "" && req.Name != i.row.Name { // no instance here loses its name
		return fmt.Errorf("instance %q: Name: %w: it is an instance of %q", i.row.ID, provider.ErrInvalid, i.row.Name)
	}
	return nil
}

func (tn *turns) steer(i *instance, req *provider.SteerRequest, now provider.Time) error {
	if err := tn.checkSteer(i, req); err != nil {
		return err
	}
	if req.Action == provider.SteerDrop {
		if err := tn.drop(i, req, now); err != nil {
			return err
		}
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
		tn.deliver(i, &provider.CommitTurnRequest{Sends: req.Notices, Status: provider.StatusTerminated}, now)
		tn.end(i, provider.StatusTerminated, req.Result, "the instance was terminated", now)
		tn.notifyFamily(i, req, now)
	case provider.SteerReset:
		tn.reset(i, req, now)
	case provider.SteerDrop: // done before the event, since it may be refused
	case provider.SteerMove:
		i.row.CodeVersion = req.CodeVersion
		i.row.EngineLevel = max(i.row.EngineLevel, req.EngineLevel)
		i.lease, i.leaseUntil = provider.UUID{}, 0
		i.owner, i.ownerUntil = "", 0
	}
	return nil
}

// notifyFamily delivers the notices of a termination.
func (tn *turns) notifyFamily(i *instance, req *provider.SteerRequest, now provider.Time) {
	if parent := tn.instances.live[i.row.Parent.Key]; parent != nil && req.ParentNotice != nil && parent.row.Execution == i.row.Parent.Execution {
		notice := *req.ParentNotice
		notice.Execution, notice.EventID = i.row.Parent.Execution, i.row.Parent.EventID
		tn.inboxes.put(parent, notice, now)
	}
	if req.ChildNotice == nil {
		return
	}
	for _, child := range tn.instances.children[i.row.Key] {
		if !child.row.Status.Ended() && !child.row.Deleting && child.row.Parent.Close == provider.CloseCancel {
			tn.inboxes.put(child, *req.ChildNotice, now)
		}
	}
}

// reset opens the next execution. It is ready at once, although no message wakes it.
func (tn *turns) reset(i *instance, req *provider.SteerRequest, now provider.Time) {
	if i.wokenAt = i.readyAt(); i.wokenAt == 0 || i.wokenAt > now {
		i.wokenAt = now
	}
	tn.dropWork(i)
	if i.execution().ended = now; i.row.Status.Ended() {
		i.execution().status = i.row.Status
	} else {
		i.execution().status = provider.StatusReset
	}
	i.open(req.EngineLevel, req.Events)
	i.row.Status, i.row.Result, i.row.EndedAt = provider.StatusRunning, nil, 0
	i.row.Excerpt, i.row.FailureGroup = nil, ""
	i.row.Blocked, i.row.Deliveries = nil, 0
	i.lease, i.leaseUntil, i.heldUntil = provider.UUID{}, 0, 0
	i.owner, i.ownerUntil = "", 0
	tn.instances.live[i.row.Key] = i
}
