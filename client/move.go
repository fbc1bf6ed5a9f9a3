package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// ErrBusy means that the instance stored turns so quickly that no Move or Reset came in between. Try again, or suspend it. SuspendToMove does
// so for Move.
var ErrBusy = errors.New("the instance is busy")

const (
	// moveTries is how often Move checks and writes.
	moveTries = 5
	// unservedTime is how long Move waits for a node that no list has.
	unservedTime = time.Second
	// resumeTime bounds the resume of an instance that Move has suspended.
	resumeTime = 10 * time.Second
)

// MoveOption is an option of Move. SuspendToMove makes one.
type MoveOption interface {
	applyMove(o *moveOptions) error
}

type moveOptions struct {
	suspend   bool
	requestID string // "": a random one
}

type moveFunc func(o *moveOptions)

func (f moveFunc) applyMove(o *moveOptions) error {
	f(o)
	return nil
}

// SuspendToMove lets Move suspend an instance that is too busy, and resume it afterwards, also if the move is refused. Turns in flight
// are made again.
func SuspendToMove() MoveOption { return moveFunc(func(o *moveOptions) { o.suspend = true }) }

// Move gives the instance that the ID names now another version of its code. See Handle.Move.
func (c *Client) Move(ctx context.Context, id, version string, opts ...MoveOption) error {
	return c.move(ctx, access.Target{ID: id}, version, opts)
}

// Move gives the current execution of the instance another version of its code, older or newer; "" is code without a version. A node that
// has that version registered replays the history with it first. If the code differs, the move is refused with the first
// difference, and nothing has changed. The code goes on from the same place: no event is added, and pending activities, timers and
// children stay. Info.CodeVersion keeps the version that the execution started with. A blocked or suspended instance stays so.
// An instance that runs the version already is left alone.
//
// Nodes of releases before level 8 leave a moved instance to newer ones. They would continue it as new in the version of its start.
//
// A turn that is stored between the check and the move makes Move check again, at most five times. Then it returns ErrBusy, unless
// SuspendToMove is given. Move waits for nodes until ctx is done, without a deadline for Options.CallTimeout, and one second if no node
// is listed with that version.
//
// Errors: ErrNotReplayed, ErrUnserved, ErrBusy, ErrEnded, ErrQueryTimeout for a replay of more than two seconds, ErrQueryRefused for
// code that did not return too often, ErrInvalid, ErrNotFound, ErrOutcomeUnknown, or the error of ctx.
func (h Handle[Out]) Move(ctx context.Context, version string, opts ...MoveOption) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.move(ctx, h.t, version, opts)
}

func (c *Client) move(ctx context.Context, t access.Target, version string, opts []MoveOption) (err error) {
	op := fmt.Sprintf("moving %s to version %s", t, check.Quote(version))
	var o moveOptions
	err = c.usable(ctx)
	if err == nil {
		err = access.Invalid(check.OptionalName("version", version))
	}
	if err == nil {
		err = access.Invalid(bind.Apply(opts, func(opt MoveOption) error { return opt.applyMove(&o) }))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if _, limited := ctx.Deadline(); !limited && c.store.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.store.Timeout)
		defer cancel()
		ctx = limited
	}
	a := access.Act{Kind: string(ActMove), Op: op, On: t, Detail: version}
	return c.caller.Perform(ctx, &a, func(ctx context.Context) error { return c.moveNow(ctx, &a, version, o) })
}

func (c *Client) moveNow(ctx context.Context, a *access.Act, version string, o moveOptions) (err error) {
	op := a.Op
	t, _, err := c.store.Resolve(ctx, a.On, op)
	if err != nil {
		return err
	}
	a.On = t
	err = c.tryMove(ctx, t, op, version, o.requestID)
	if !errors.Is(err, ErrBusy) || !o.suspend {
		return err
	}
	row, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return err
	}
	if row.Instance.Status == provider.StatusRunning {
		if err := c.steer(ctx, t, op, provider.SteerRequest{Action: provider.SteerSuspend}); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTime)
			defer cancel()
			err = cmp.Or(err, c.steer(ctx, t, op+": resuming it", provider.SteerRequest{Action: provider.SteerResume}))
		}()
	}
	return c.tryMove(ctx, t, op, version, o.requestID)
}

// tryMove checks and writes until nothing came in between.
func (c *Client) tryMove(ctx context.Context, t access.Target, op, version, requestID string) error {
	for range moveTries {
		row, err := c.store.Instance(ctx, t, op, false)
		switch {
		case err != nil:
			return err
		case row.Instance.Status.Ended():
			return access.Explain(op, row.Instance.Status, ErrEnded)
		case row.Instance.CodeVersion == version:
			return nil
		}
		at, err := c.replays(ctx, t, op, provider.Capability{Name: row.Instance.Name, CodeVersion: version})
		if err != nil {
			return err
		}
		err = c.steer(ctx, t, op, provider.SteerRequest{
			Action: provider.SteerMove, CodeVersion: version, Expected: at, EngineLevel: replay.LevelOfHandlers,
			RequestID: requestID,
		})
		if !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: it changed at each of %d tries; give client.SuspendToMove, or try later", op, ErrBusy, moveTries)
}

// steer changes an instance once.
func (c *Client) steer(ctx context.Context, t access.Target, op string, req provider.SteerRequest) error {
	req.Key, req.Commit, req.RequestID = t.Key, provider.UUID(uuid.New()), cmp.Or(req.RequestID, uuid.NewString())
	doubtful, err := c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, req)
		return err
	})
	if err != nil {
		return access.Doubt(access.Explain(op, 0, err), doubtful, "look at the instance")
	}
	return nil
}

// replays returns the Version of the row at which the history replays with a version of the code.
func (c *Client) replays(ctx context.Context, t access.Target, op string, of provider.Capability) (at provider.UUID, err error) {
	q := history.Question{Name: replay.QueryReplays, Input: []byte(of.CodeVersion), EvenBlocked: true}
	wait := min(unservedTime, remaining(ctx))
	for {
		if wait <= 0 {
			return at, unserved(op, fmt.Sprintf("check that a node runs version %s and is not overloaded", check.Quote(of.CodeVersion)))
		}
		q.Limit = wait.Microseconds()
		a, err := c.askAs(ctx, t, op, &q, of)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return at, fmt.Errorf("%s: %w", op, access.Why(ctx))
		case errors.Is(err, provider.ErrNoAnswer), errors.Is(err, context.DeadlineExceeded):
			if !c.mayServe(ctx, of) {
				return at, unserved(op, "no node has registered that version: start one, or move to a version that a node has")
			}
			wait = min(provider.MaxWait, remaining(ctx))
			continue
		case err != nil:
			return at, access.Explain(op, 0, err)
		}
		output, err := c.answered(t, op, q.Name, &a)
		if err == nil && copy(at[:], output) != len(at) {
			err = fmt.Errorf("%s: the answer has %d bytes: upgrade the client", op, len(output))
		}
		return at, err
	}
}

// remaining returns the time until the deadline of ctx.
func remaining(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return provider.MaxWait
}

// mayServe reports whether a node may have registered a version: one that is listed and not lost has, its list is cut, or there is no list.
func (c *Client) mayServe(ctx context.Context, of provider.Capability) bool {
	ctx, cancel := c.store.Bound(ctx)
	defer cancel()
	nodes, now, err := upgrade.Nodes(ctx, c.store)
	for i := range nodes {
		if n := &nodes[i]; !n.Lost(now) && (n.Cuts() || n.Runs(of)) {
			return true
		}
	}
	return err != nil
}
