package client

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
)

// auditTime bounds the write of an act's outcome, which the end of the caller's context does not stop.
const auditTime = 5 * time.Second

// An act is one change that a caller asks for.
type act struct {
	kind   Act
	op     string // for errors, such as `cancelling instance "order-42"`
	on     target // the instance; the function of perform may fill in the key
	other  string // what the act is about if it is about no instance, such as `queue "mail"`
	detail string // for the audit, such as a reason

	requestID string // that the act writes; perform chooses one if there is none
	system    bool   // the act may be about an instance of perdure itself
	inTx      bool   // it is part of a transaction of the caller
}

// perform does an act in the name of the client's principal: it checks the right, writes the intent, calls fn, and writes the outcome. A
// client without a principal only calls fn. Instances of perdure itself are refused, except to the calls that are made for them.
func (c *Client) perform(ctx context.Context, a *act, fn func(context.Context) error) error {
	if a.requestID == "" {
		a.requestID = uuid.NewString()
	}
	if err := c.refuseSystem(ctx, a); err != nil {
		return err
	}
	if c.principal == nil {
		return fn(ctx)
	}
	if err := c.may(a); err != nil {
		return err
	}
	if err := c.completeTarget(ctx, a); err != nil {
		return err
	}
	entry, err := c.beginAudit(ctx, a)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", a.op, err)
	}
	began := time.Now()
	failed := fn(ctx)
	c.endAudit(ctx, entry, a, time.Since(began), failed)
	return failed
}

// refuseSystem refuses an act on an instance of perdure itself. One that runs an orchestration of the user is none, whatever its ID: forks of
// releases before could take such an ID, and somebody has to remove them.
func (c *Client) refuseSystem(ctx context.Context, a *act) error {
	if a.system || !reserved.ID(a.on.id) {
		return nil
	}
	if res, err := c.store.instance(ctx, a.on, a.op, false); err == nil && !reserved.Name(res.Instance.Name) {
		a.on.key = res.Instance.Key // perdure may take the ID at any time
		return nil
	}
	return fmt.Errorf("%s: %w: IDs that begin with %s belong to perdure itself: use the calls for schedules, bulk jobs and retention",
		a.op, ErrInvalid, reserved.IDPrefix)
}

// may refuses an act that the principal has no right to.
func (c *Client) may(a *act) error {
	if c.principal == nil {
		return nil
	}
	if !c.principal.May(a.kind) {
		return fmt.Errorf("%s: %w: %s has the role %v, and the act %q needs the role %v",
			a.op, ErrForbidden, check.Quote(c.principal.Name), c.principal.Role, a.kind, acts[a.kind])
	}
	if a.inTx {
		return fmt.Errorf("%s: %w: acts of a principal are written to the audit, which a transaction of the caller would hold up: use a client without a principal",
			a.op, ErrInvalid)
	}
	return nil
}

// completeTarget completes the target of an act that names it by its key, whose ID a caller may have made up.
func (c *Client) completeTarget(ctx context.Context, a *act) error {
	if a.on.key.IsZero() {
		return nil
	}
	res, err := c.store.instance(ctx, a.on, a.op, false)
	if err != nil {
		return err
	}
	a.on.id = res.Instance.ID
	return c.refuseSystem(ctx, a)
}

// beginAudit writes the audit record of an act.
func (c *Client) beginAudit(ctx context.Context, a *act) (*audit.Entry, error) {
	e := &audit.Entry{
		Principal: c.principal.Name, Role: c.principal.Role.String(), Act: string(a.kind), Instance: a.on.id, Of: a.on.key,
		Other: a.other, Detail: check.Cut(a.detail, maxReason), RequestID: a.requestID,
	}
	_, err := c.store.write(ctx, a.op, func(ctx context.Context) error { return e.Begin(ctx, c.store) })
	return e, err
}

// endAudit writes the outcome. If it cannot, the record keeps an unknown outcome.
func (c *Client) endAudit(ctx context.Context, e *audit.Entry, a *act, took time.Duration, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	e.Instance, e.Of = a.on.id, a.on.key
	_, err := c.store.write(ctx, a.op, func(ctx context.Context) error { return e.End(ctx, c.store, took, failed) })
	if err != nil {
		c.store.logger.WarnContext(ctx, "outcome of an act is missing in the audit", "act", a.op, "principal", e.Principal, "error", err)
	}
}
