package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// A mover carries instances to other stores and from there.
type mover struct {
	*store

	instances   *instances
	deadLetters *deadLetters
	tasks       *tasks
	turns       *turns
	cleaner     *cleaner
}

// Seal implements provider.Mover.
func (mv *mover) Seal(ctx context.Context, req provider.SealRequest) (res provider.SealResult, err error) {
	err = mv.do(ctx, req, func(now provider.Time) error {
		i := mv.instances.byKey[req.Key]
		if i == nil {
			return provider.ErrNotFound
		}
		if err := mv.seal(i, &req, now); err != nil {
			return err
		}
		res = provider.SealResult{Instance: i.view(), Seal: i.seal.Seal, Now: now}
		return nil
	})
	return res, err
}

func (mv *mover) seal(i *instance, req *provider.SealRequest, now provider.Time) error {
	s := &i.seal
	step, err := req.Step(s.Seal)
	if err != nil {
		return fmt.Errorf("instance %q: %w", i.row.ID, err)
	}
	switch step {
	case provider.StepHold:
		return mv.hold(i, req, now)
	case provider.StepAdopt:
		s.Transfer = req.Transfer
	case provider.StepClose:
		s.State, i.row.Deleting = provider.SealClosed, true
		delete(mv.instances.live, req.Key)
	case provider.StepReopen:
		mv.open(i)
		mv.stamp(i, req, now)
	case provider.StepFree:
		s.State, i.row.Status = provider.SealNone, s.Status
		mv.stamp(i, req, now)
	case provider.StepStay:
		return nil
	}
	mv.write()
	return nil
}

// hold suspends the instance and ends its leases.
func (mv *mover) hold(i *instance, req *provider.SealRequest, now provider.Time) error {
	if i.row.Status.Ended() {
		return provider.ErrEnded
	}
	i.seal = seal{Seal: provider.Seal{Key: req.Key, ID: i.row.ID, Transfer: req.Transfer, State: provider.SealHeld, Status: i.row.Status}}
	i.row.Status = provider.StatusSuspended
	if i.leaseUntil > now {
		i.row.Deliveries = max(i.row.Deliveries-1, 0)
	}
	i.lease, i.leaseUntil, i.owner, i.ownerUntil = provider.UUID{}, 0, "", 0
	for _, t := range mv.tasks.byRef {
		if t.Key == req.Key && t.state == provider.TaskLeased {
			t.queueAt(t.notBefore)
		}
	}
	mv.stamp(i, req, now)
	return nil
}

// open undoes the closing. An ended instance is then free.
func (mv *mover) open(i *instance) {
	i.seal.State, i.row.Deleting = provider.SealHeld, false
	if i.seal.Status.Ended() {
		i.seal.State, i.row.Status, i.row.EndedAt = provider.SealNone, i.seal.Status, i.seal.ended
		return
	}
	mv.instances.live[i.row.Key] = i
}

// stamp gives the instance its new version.
func (mv *mover) stamp(i *instance, req *provider.SealRequest, now provider.Time) {
	i.row.Version = req.Commit
	if !i.row.Status.Ended() {
		i.row.UpdatedAt = now
	}
	mv.notice(i.row.Key, i.row.Execution, 0)
	mv.write()
}

// Seals implements provider.Mover.
func (mv *mover) Seals(ctx context.Context, req provider.SealsRequest) (res provider.SealsResult, err error) {
	err = mv.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		for _, i := range mv.instances.byKey {
			if i.seal.State != provider.SealNone && i.row.Key.String() > req.Cursor && (req.Key.IsZero() || req.Key == i.row.Key) {
				res.Seals = append(res.Seals, i.seal.Seal)
			}
		}
		slices.SortFunc(res.Seals, func(a, b provider.Seal) int { return slices.Compare(a.Key[:], b.Key[:]) })
		if n := cmp.Or(req.Max, provider.MaxPage); len(res.Seals) > n {
			res.Seals, res.Cursor = res.Seals[:n], res.Seals[n-1].Key.String()
		}
		return nil
	})
	return res, err
}
