package access

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// auditTime bounds the write of an act's outcome, which the end of the caller's context does not stop.
const auditTime = 5 * time.Second

// An Act is one change that a caller asks for.
type Act struct {
	Kind   string // a client.Act
	Op     string // for errors, such as `cancelling instance "order-42"`
	On     Target // the instance; the function of Perform may fill in the key
	Other  string // what the act is about if it is about no instance, such as `queue "mail"`
	Detail string // for the audit, such as a reason

	RequestID string // that the act writes; Perform chooses one if there is none
	System    bool   // the act may be about an instance of perdure itself
	InTx      bool   // it is part of a transaction of the caller

	Input  *[]byte // what the act takes, for the Interceptor, which may replace it; nil: none
	Output *[]byte // what it returns; nil: none
}

// An Interceptor is called around acts and queries.
type Interceptor interface {
	Around(ctx context.Context, a *Act, fn func(context.Context) error) error
}

// Perform does an act in the name of the principal: it checks the right, writes the intent, calls fn, and writes the outcome. A
// Caller without a principal only calls fn. Instances of perdure itself are refused, except to the calls that are made for them.
func (c *Caller) Perform(ctx context.Context, a *Act, fn func(context.Context) error) error {
	if c.Interceptor == nil {
		return c.perform(ctx, a, fn)
	}
	return c.Interceptor.Around(ctx, a, func(ctx context.Context) error { return c.perform(ctx, a, fn) })
}

func (c *Caller) perform(ctx context.Context, a *Act, fn func(context.Context) error) error {
	if a.RequestID == "" {
		a.RequestID = uuid.NewString()
	}
	if err := c.RefuseSystem(ctx, a); err != nil {
		return err
	}
	if c.Principal == nil {
		return fn(ctx)
	}
	if err := c.May(a); err != nil {
		return err
	}
	if err := c.completeTarget(ctx, a); err != nil {
		return err
	}
	entry, err := c.beginAudit(ctx, a)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", a.Op, err)
	}
	began := time.Now()
	failed := fn(ctx)
	c.endAudit(ctx, entry, a, time.Since(began), failed)
	return failed
}

// RefuseSystem refuses an act on an instance of perdure itself. One that runs an orchestration of the user is none, whatever its ID: forks of
// releases before could take such an ID, and somebody has to remove them.
func (c *Caller) RefuseSystem(ctx context.Context, a *Act) error {
	if a.System || !reserved.ID(a.On.ID) {
		return nil
	}
	if res, err := c.Store.Instance(ctx, a.On, a.Op, false); err == nil && !reserved.Name(res.Instance.Name) {
		a.On.Key = res.Instance.Key // perdure may take the ID at any time
		return nil
	}
	return fmt.Errorf("%s: %w: IDs that begin with %s belong to perdure itself: use the calls for schedules, bulk jobs and retention",
		a.Op, provider.ErrInvalid, reserved.IDPrefix)
}

// OfService refuses what only the service itself may do: a caller for a principal cannot leave that behind.
func (c *Caller) OfService(op string) error {
	if c.Principal == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: the client acts for %s already: use the client that client.New has made", op, ErrForbidden, check.Quote(c.Principal.Name))
}

// May refuses an act that the principal has no right to.
func (c *Caller) May(a *Act) error {
	if c.Principal == nil {
		return nil
	}
	if needs, may := c.Principal.Needs(a.Kind); !may {
		return fmt.Errorf("%s: %w: %s has the role %s, and the act %q needs the role %s",
			a.Op, ErrForbidden, check.Quote(c.Principal.Name), c.Principal.Role, a.Kind, needs)
	}
	if a.InTx {
		return fmt.Errorf("%s: %w: acts of a principal are written to the audit, which a transaction of the caller would hold up: use a client without a principal",
			a.Op, provider.ErrInvalid)
	}
	return nil
}

// completeTarget completes the target of an act that names it by its key, whose ID a caller may have made up.
func (c *Caller) completeTarget(ctx context.Context, a *Act) error {
	if a.On.Key.IsZero() {
		return nil
	}
	res, err := c.Store.Instance(ctx, a.On, a.Op, false)
	if err != nil {
		return err
	}
	a.On.ID = res.Instance.ID
	return c.RefuseSystem(ctx, a)
}

// beginAudit writes the audit record of an act.
func (c *Caller) beginAudit(ctx context.Context, a *Act) (*audit.Entry, error) {
	e := &audit.Entry{
		Principal: c.Principal.Name, Role: c.Principal.Role, Act: a.Kind, Instance: a.On.ID, Of: a.On.Key,
		Other: a.Other, Detail: check.Cut(a.Detail, MaxReason), RequestID: a.RequestID,
	}
	_, err := c.Store.Write(ctx, a.Op, func(ctx context.Context) error { return e.Begin(ctx, c.Store) })
	return e, err
}

// endAudit writes the outcome. If it cannot, the record keeps an unknown outcome.
func (c *Caller) endAudit(ctx context.Context, e *audit.Entry, a *Act, took time.Duration, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	e.Instance, e.Of = a.On.ID, a.On.Key
	_, err := c.Store.Write(ctx, a.Op, func(ctx context.Context) error { return e.End(ctx, c.Store, took, failed) })
	if err != nil {
		c.Store.Logger.WarnContext(ctx, "outcome of an act is missing in the audit", "act", a.Op, "principal", e.Principal, "error", err)
	}
}
