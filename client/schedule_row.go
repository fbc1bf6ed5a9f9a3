package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// ErrNoNode means that no node of the store runs what the call needs, such as schedules. Nothing was stored.
var ErrNoNode = errors.New("no node runs it")

// Schedule is a schedule by its ID. It is a plain value: many goroutines may copy and use it at once. A zero Schedule returns ErrInvalid.
//
// Update, Pause, Resume, Trigger and Backfill return when a node has done it. They need a node: without one they return ErrNoNode. A
// call whose context ends may have taken effect all the same.
type Schedule struct {
	c  *Client
	id string
}

// Schedule returns the schedule of an ID without a call of the store.
func (c *Client) Schedule(id string) Schedule { return Schedule{c: c, id: id} }

// ID returns the ID of the schedule.
func (s Schedule) ID() string { return s.id }

// scheduleRow is a stored schedule.
type scheduleRow struct {
	key     provider.UUID
	created time.Time
	now     time.Time // of the store
	blocked *Blocked
	view    form.View // zero Revision: no node has run it yet
}

// stored reads the schedule. An ended one is ErrNotFound.
func (s Schedule) stored(ctx context.Context, op string) (*scheduleRow, error) {
	if err := cmp.Or(s.c.usable(ctx), checkScheduleID(s.id)); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return s.c.scheduleRow(ctx, op, provider.GetRequest{ID: reserved.SchedulePrefix + s.id})
}

// scheduleRow reads a schedule by its ID or its key.
func (c *Client) scheduleRow(ctx context.Context, op string, req provider.GetRequest) (*scheduleRow, error) {
	req.Value = form.ValueKey
	res, err := access.Read(ctx, c.store.Store, op, c.store.Get, req)
	if err == nil && res.Instance.Status.Ended() {
		err = provider.ErrNotFound
	}
	if errors.Is(err, provider.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w: it never existed or was deleted; check the ID, and that this is the right store", op, ErrNotFound)
	}
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	i := &res.Instance
	row := &scheduleRow{key: i.Key, created: i.CreatedAt.Std(), now: res.Now.Std()}
	if i.Blocked != nil {
		row.blocked = blocked(i.Blocked)
	}
	row.view.ID = strings.TrimPrefix(i.ID, reserved.SchedulePrefix)
	if res.Value == nil {
		return row, nil
	}
	if why, refused := payload.Refused(res.Value.Value); refused {
		return nil, fmt.Errorf("%s: %w: %s", op, ErrNotStored, why)
	}
	if err := payload.Decode(res.Value.Value, &row.view); err != nil {
		return nil, fmt.Errorf("%s: what it shows cannot be read: %w", op, err)
	}
	return row, nil
}

// begun is stored for what a schedule shows once a node has run it. It waits for that, at most for a time, if a node of the store runs schedules.
// Without one the Revision of the view is zero.
func (s Schedule) begun(ctx context.Context, op string, most time.Duration) (*scheduleRow, error) {
	row, err := s.stored(ctx, op)
	if err != nil || row.view.Revision != 0 || row.blocked != nil {
		return row, err
	}
	if none, err := s.c.noScheduler(ctx); err != nil || none && s.c.node == nil {
		return row, err
	}
	for end := time.Now().Add(most); row.view.Revision == 0 && row.blocked == nil; {
		left := time.Until(end)
		if most > 0 && left <= 0 {
			break
		}
		wait := waitSlice
		if most > 0 {
			wait = min(wait, left)
		}
		row, err = s.c.scheduleRow(ctx, op, provider.GetRequest{Key: row.key, WaitValue: true, WaitBlocked: true, Wait: wait})
		if err != nil {
			return nil, err
		}
	}
	return row, nil
}

// specified is begun for a call that needs the specification.
func (s Schedule) specified(ctx context.Context, op string) (*scheduleRow, error) {
	row, err := s.begun(ctx, op, s.c.store.Timeout)
	switch {
	case err != nil || row.view.Revision != 0:
		return row, err
	case row.blocked != nil:
		return nil, fmt.Errorf("%s: %w: it is blocked (%s): %s", op, ErrBlocked, row.blocked.Reason, row.blocked.Message)
	}
	return nil, fmt.Errorf("%s: %w: none has run the schedule since it was created: start a node of a release that has schedules, or repeat the call later",
		op, ErrNoNode)
}

// noScheduler reports whether no node that the store lists, and that is not lost, runs schedules.
func (c *Client) noScheduler(ctx context.Context) (bool, error) {
	nodes, now, err := c.store.Nodes(ctx, "listing nodes")
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(nodes, func(n upgrade.Node) bool {
		return !n.Lost(now) && slices.ContainsFunc(n.System, func(o upgrade.Orchestration) bool { return o.Name == reserved.Schedule })
	}), nil
}

// needScheduler refuses what only a node that runs schedules can do, if the store lists its nodes and none is one.
func (c *Client) needScheduler(ctx context.Context) error {
	if c.node != nil {
		return nil
	}
	if none, err := c.noScheduler(ctx); none && err == nil {
		return fmt.Errorf("%w: start a node of a release that has schedules", ErrNoNode)
	}
	return nil
}

// key returns the key of the schedule's instance.
func (s Schedule) key(ctx context.Context, op string) (provider.UUID, error) {
	row, err := s.stored(ctx, op)
	if err != nil {
		return provider.UUID{}, err
	}
	return row.key, nil
}
