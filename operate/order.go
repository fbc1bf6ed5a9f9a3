package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/upgrade"
)

const (
	// confirmTime is the default of ConfirmWithin. Nodes look every four seconds.
	confirmTime = 6 * time.Second
	// confirmPace is how often the records of the nodes are read meanwhile.
	confirmPace = 250 * time.Millisecond
)

// Order says why a queue is paused or a node drained.
type Order struct {
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"` // the principal; "": the embedding service
	At     time.Time `json:"at"`           // by the storage's clock; UTC
}

// Confirmation says which nodes obey an order that is stored. Both lists have owners, as Nodes has.
type Confirmation struct {
	// Unconfirmed are the nodes that had not confirmed when the call returned. They obey within five seconds of their next contact with the
	// store.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
	// Ignoring are nodes of releases that know no orders. They go on as before: stop them. Nodes of releases before Nodes are not known.
	Ignoring []string `json:"ignoring,omitempty"`
	// NoNode says that the order is about no listed node: none serves the queue, or has that name. It is stored, and holds for nodes that start
	// later. The name may be wrong.
	NoNode bool `json:"noNode,omitempty"`
}

// OrderOption is an option of PauseQueue, ResumeQueue, DrainNode and UndrainNode. ConfirmWithin makes one.
type OrderOption interface {
	applyOrder(o *orderOptions) error
}

type orderOptions struct{ within time.Duration }

type orderFunc func(o *orderOptions) error

func (f orderFunc) applyOrder(o *orderOptions) error { return f(o) }

// ConfirmWithin bounds how long the call waits until all nodes that the order is about have confirmed; default 6 s. With 0 it returns
// when the order is stored.
func ConfirmWithin(d time.Duration) OrderOption {
	return orderFunc(func(o *orderOptions) error {
		if d < 0 {
			return fmt.Errorf("%w: ConfirmWithin(%v): give zero or more", client.ErrInvalid, d)
		}
		o.within = d
		return nil
	})
}

// order changes the orders of the store as an act, and waits for the nodes that the order is about.
func (o *Operator) order(
	ctx context.Context, a *access.Act, reason string, opts []OrderOption, change func(all *control.Orders, by control.Order), about func(n *upgrade.Node) bool,
) (done Confirmation, err error) {
	settings := orderOptions{within: confirmTime}
	if err := access.Option(bind.Apply(opts, func(opt OrderOption) error { return opt.applyOrder(&settings) })); err != nil {
		return done, fmt.Errorf("%s: %w", a.Op, err)
	}
	if reason != "" {
		a.Detail += ": " + reason
	}
	err = o.caller.Perform(ctx, a, func(ctx context.Context) error {
		by := control.Order{Reason: reason}
		if p := o.caller.Principal; p != nil {
			by.By = p.Name
		}
		var stored control.Orders
		doubtful, err := o.caller.Store.Write(ctx, a.Op, func(ctx context.Context) (err error) {
			stored, err = control.Change(ctx, o.caller.Store, func(all *control.Orders) { change(all, by) })
			return err
		})
		if errors.Is(err, control.ErrTooMany) {
			return fmt.Errorf("%s: %w: %w", a.Op, client.ErrTooLarge, err)
		}
		if err != nil {
			return access.Doubt(access.Explain(a.Op, 0, err), doubtful, "repeat it, which does no harm")
		}
		done = o.confirm(ctx, a.Op, stored.Version, settings.within, about)
		return nil
	})
	return done, err
}

// confirm waits until the nodes have confirmed a version of the orders. The order is stored: what cannot be read is no error.
func (o *Operator) confirm(ctx context.Context, op string, version int64, within time.Duration, about func(n *upgrade.Node) bool) (done Confirmation) {
	ctx, cancel := context.WithTimeout(ctx, within+time.Second)
	defer cancel()
	for until := time.Now().Add(within); ; {
		nodes, now, err := o.caller.Store.Nodes(ctx, op)
		if err == nil {
			done = Confirmation{NoNode: true}
			waits := false
			for i := range nodes {
				n := &nodes[i]
				if !about(n) {
					continue
				}
				done.NoNode = false
				switch {
				case n.Every == 0:
					done.Ignoring = append(done.Ignoring, n.Owner)
				case n.Seen < version:
					done.Unconfirmed = append(done.Unconfirmed, n.Owner)
					waits = waits || !n.Lost(now)
				}
			}
			if !waits {
				return done
			}
		}
		if !time.Now().Add(confirmPace).Before(until) || !access.Sleep(ctx, confirmPace) {
			return done
		}
	}
}
