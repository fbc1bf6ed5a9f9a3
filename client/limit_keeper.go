package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	// limitOverlap is how far a look goes back behind the one before. A start may be stored long after its limit was computed; a whole look
	// finds those that are stored still later.
	limitOverlap = 2 * time.Minute
	// limitDeference is how much later a process acts that is not the first one.
	limitDeference = 10 * time.Second
	// maxOverdue is how many cancelled instances a keeper remembers. A whole look finds the others.
	maxOverdue = 10_000
)

// limitKeeper is access.LimitKeeper. What it does has request IDs that come from the instance and its limit, so it is done once, however many
// processes do it. A cancel request is a message, which the instance drops if it repeats one.
type limitKeeper struct {
	c       *Client
	looked  provider.Time // the storage's time of the last look; 0: there was none
	at      time.Time     // when that was
	overdue map[provider.UUID]overdue
}

// overdue is a limit of an instance that was asked to stop, and runs as far as the keeper knows.
type overdue struct {
	limit     reserved.Limit
	terminate time.Time // when it is terminated
}

// Look implements [access.LimitKeeper].
func (k *limitKeeper) Look(ctx context.Context, whole bool, first func() bool) (next time.Duration, err error) {
	const op = "looking for instances that are over their time limit"
	match := provider.AttributeMatch{Name: reserved.LimitAttribute, Kind: provider.AttributeText}
	if !whole && k.looked != 0 {
		match.From = &provider.AttributeValue{Text: reserved.LimitBound(k.looked.Add(-limitOverlap).Std())}
		match.To = &provider.AttributeValue{Text: reserved.LimitBound(k.looked.Add(time.Since(k.at)).Std())}
	}
	req := provider.ListRequest{Max: provider.MaxPage, Filter: provider.Filter{
		Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended}, Matches: []provider.AttributeMatch{match}, Replaced: true,
	}, Omit: []provider.ListField{provider.ListCustomStatus, provider.ListBlockedMessage}}
	var soonest, last time.Time
	var failed error
	for {
		began := time.Now()
		res, err := access.Read(ctx, k.c.store.Store, op, k.c.store.List, req)
		if err != nil {
			return 0, access.Explain(op, 0, err)
		}
		now := res.Now.Std()
		for i := range res.Instances {
			at, err := k.judge(ctx, &res.Instances[i], now, first)
			if failed = errors.Join(failed, err); !at.IsZero() && (soonest.IsZero() || at.Before(soonest)) {
				soonest = at
			}
		}
		if req.Cursor = res.Cursor; req.Cursor == "" {
			if failed == nil { // else the next look goes as far back as this one
				k.looked, k.at = res.Now, began
			}
			last = now
			break
		}
	}
	failed = errors.Join(failed, k.terminate(ctx, last))
	for _, o := range k.overdue {
		if soonest.IsZero() || o.terminate.Before(soonest) {
			soonest = o.terminate
		}
	}
	if soonest.IsZero() {
		return 0, failed
	}
	return max(soonest.Sub(last), time.Microsecond), failed
}

// judge asks an instance to stop if its limit is over. It returns when it has to be judged again; zero: never.
func (k *limitKeeper) judge(ctx context.Context, i *provider.Instance, now time.Time, first func() bool) (again time.Time, err error) {
	l, ok := limitOf(i)
	if !ok || l.Execution != 0 && l.Execution != i.Execution { // a node that knows no limits has continued it as new
		return again, nil
	}
	act := l.Due
	if act.After(now) {
		return act, nil
	}
	if o, known := k.overdue[i.Key]; known && o.limit == l {
		return again, nil
	}
	if late := act.Add(limitDeference); late.After(now) && !first() {
		return late, nil
	}
	op := fmt.Sprintf("cancelling instance %q, whose time limit is over", i.ID)
	_, err = k.c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := k.c.store.Send(ctx, provider.SendRequest{Key: i.Key, Message: engine.Message(&history.CancelRequested{
			Reason: fmt.Sprintf("its time limit of %v is over", l.For), RequestID: l.Request(i.Key.String(), "cancel"),
		}, l.Execution, 0)})
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	if gone(err) {
		return again, nil
	}
	if err != nil && !errors.Is(err, provider.ErrInboxFull) { // one that takes no message is terminated all the same
		return again, access.Explain(op, 0, err)
	}
	if k.overdue == nil {
		k.overdue = make(map[provider.UUID]overdue)
	}
	if len(k.overdue) < maxOverdue {
		k.overdue[i.Key] = overdue{limit: l, terminate: act.Add(l.Grace)}
	}
	return again, nil
}

// terminate terminates the instances whose grace is over, and forgets those that have ended or have another limit by now.
func (k *limitKeeper) terminate(ctx context.Context, now time.Time) (failed error) {
	for key, o := range k.overdue {
		if o.terminate.After(now) {
			continue
		}
		err := k.terminateOne(ctx, key, o.limit)
		if err == nil || gone(err) {
			delete(k.overdue, key)
			continue
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (k *limitKeeper) terminateOne(ctx context.Context, key provider.UUID, l reserved.Limit) error {
	op := fmt.Sprintf("terminating instance %s, whose time limit and grace are over", key)
	res, err := k.c.store.Instance(ctx, access.Target{Key: key}, op, false)
	if err != nil {
		return err
	}
	i := &res.Instance
	if now, ok := limitOf(i); !ok || now != l || i.Status.Ended() || l.Execution != 0 && l.Execution != i.Execution {
		return nil
	}
	at := max(res.Now, i.UpdatedAt)
	req := terminateRequest(i, fmt.Sprintf("its time limit of %v and the grace of %v are over", l.For, l.Grace), at)
	req.RequestID = l.Request(key.String(), "terminate")
	_, err = k.c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := k.c.store.Steer(ctx, req)
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	if err == nil {
		k.c.terminated(i, at)
	}
	return err
}

// gone reports whether an instance is over for a keeper.
func gone(err error) bool {
	return errors.Is(err, provider.ErrEnded) || errors.Is(err, provider.ErrNotFound)
}
