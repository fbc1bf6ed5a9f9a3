package durability

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Order is paid for, packed, and approved from outside.
func Order(ctx *orchestration.Context, in string) (string, error) {
	id := strings.TrimPrefix(in, ack{what: started}.mark())
	payment, err := orchestration.Events[string](ctx, "paid").Receive(ctx)
	if err != nil {
		return "", err
	}
	parcel, err := orchestration.CallActivityNamed[string](ctx, "pack", ack{what: packing, id: id}.mark())
	if err != nil {
		return "", err
	}
	approval, err := orchestration.CallActivityNamed[string](ctx, "approve", ack{what: asking, id: id}.mark())
	return outcome(id, payment, parcel, approval), err
}

// large is the name of the shop whose outcomes are so long that few orders fill a log.
const large = "l"

// bulk returns the length of an outcome. The filling comes last, so that no mark crosses the end of a page.
func bulk(id string) int {
	if strings.HasPrefix(id, large) {
		return 40 << 10
	}
	return 8 << 10
}

func outcome(id, payment, parcel, approval string) string {
	return strings.Join([]string{ack{what: ended, id: id}.mark(), payment, parcel, approval, strings.Repeat("-", bulk(id))}, " ")
}

// implied returns the outcome that the code of Order implies.
func implied(id string) string {
	return outcome(id, ack{what: paid, id: id}.mark(), "parcel-"+id, ack{what: approved, id: id}.mark())
}

// shop is a node with clients on one store. It reports each acknowledgement, and nothing that it does depends on the
// listener.
type shop struct {
	store  provider.Provider
	client *client.Client
	report func(ack)
	asked  chan ack // the activities that wait for approval

	mayLose bool // orders may be lost with the server that had them
	repeats bool // another customer may have made the same calls before
}

// maxAsked is more than the number of activities that ask at the same time.
const maxAsked = 10_000

func newShop(store provider.Provider, report func(ack)) *shop {
	return &shop{store: store, report: report, asked: make(chan ack, maxAsked)}
}

// open starts the node and a client that starts orders through it.
func (s *shop) open(ctx context.Context) (*runtime.Runtime, error) {
	reg := runtime.NewRegistry()
	pack := func(_ context.Context, in string) (string, error) {
		t, err := parse(in)
		s.report(t)
		return "parcel-" + t.id, err
	}
	ask := func(ctx context.Context, in string) (string, error) {
		t, err := parse(in)
		if err != nil {
			return "", err
		}
		t.token = activity.Token(ctx)
		s.report(t)
		return "", activity.ErrParked
	}
	err := errors.Join(
		runtime.AddOrchestration(reg, Order),
		runtime.AddActivity(reg, activity.Define("pack", pack)),
		runtime.AddActivity(reg, activity.Define("approve", ask)),
	)
	if err != nil {
		return nil, err
	}
	node, err := runtime.Start(ctx, s.store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	s.client, err = node.Client(client.Options{})
	return node, err
}

// serve places n orders, or orders until ctx ends if n is 0. Each customer places one after the other. serve also
// approves the asking activities.
func (s *shop) serve(ctx context.Context, name string, customers, n int) error {
	ctx, closed := context.WithCancel(ctx)
	defer closed()
	var clerks errgroup.Group
	for range 2 {
		clerks.Go(func() error { return s.approveAll(ctx) })
	}
	var buyers errgroup.Group
	for c := range customers {
		buyers.Go(func() error {
			for i := c; ctx.Err() == nil && (n == 0 || i < n); i += customers {
				if err := s.order(ctx, orderID(name, i)); err != nil && !s.isLost(err) {
					return err
				}
			}
			return nil
		})
	}
	err := buyers.Wait()
	closed()
	return errors.Join(err, clerks.Wait())
}

// perform serves the orders, rests so that the log can be copied into the file, and serves six more for a single
// customer. SQLite does not restart its log while others read.
func (s *shop) perform(ctx context.Context, name string, orders int) error {
	if err := s.serve(ctx, name, customers, orders); err != nil {
		return err
	}
	pass(20 * time.Millisecond)
	return s.serve(ctx, "z", 1, 6)
}

// pass lets a moment pass while the processes continue. Nothing depends on its length.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// customers is the number of customers that order at the same time.
const customers = 8

// order places an order and waits for its end.
func (s *shop) order(ctx context.Context, id string) error {
	h, err := client.Start(ctx, s.client, Order, ack{what: started, id: id}.mark(), client.WithID(id), client.WithRequestID("start"))
	if err != nil {
		return over(ctx, err)
	}
	s.report(ack{what: started, id: id})
	switch err := s.pay(ctx, h); {
	case err == nil:
		s.report(ack{what: paid, id: id})
	case (s.repeats || errors.Is(err, client.ErrOutcomeUnknown)) && errors.Is(err, client.ErrEnded):
		// The call whose reply was lost has stored the payment. The order ended before the call was repeated.
	default:
		return over(ctx, err)
	}
	return over(ctx, s.await(ctx, h))
}

func (s *shop) pay(ctx context.Context, h client.Handle[string]) error {
	return h.Raise(ctx, "paid", ack{what: paid, id: h.ID()}.mark(), client.WithRequestID("pay"))
}

func (s *shop) await(ctx context.Context, h client.Handle[string]) error {
	out, err := h.Wait(ctx, client.OrBlocked())
	if err != nil {
		return err
	}
	s.report(ack{what: ended, id: h.ID()})
	if out != implied(h.ID()) {
		return fmt.Errorf("order %s ended with %.100q", h.ID(), out)
	}
	return nil
}

// approveAll completes the asking activities.
func (s *shop) approveAll(ctx context.Context) error {
	for {
		select {
		case t := <-s.asked:
			if err := s.approve(ctx, t); err != nil {
				return over(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// approve completes an activity. The token of a lost attempt is void; the next attempt has another one.
func (s *shop) approve(ctx context.Context, t ack) error {
	done := ack{what: approved, id: t.id}
	err := client.CompleteActivity(ctx, s.client, t.token, done.mark())
	switch {
	case errors.Is(err, activity.ErrLeaseLost), errors.Is(err, activity.ErrAlreadyCompleted), errors.Is(err, client.ErrEnded), s.isLost(err):
		return nil
	case err != nil:
		return fmt.Errorf("approving %s: %w", t.id, err)
	}
	s.report(done)
	return nil
}

// isLost reports whether an error says that an order was lost with the server that had it.
func (s *shop) isLost(err error) bool { return s.mayLose && errors.Is(err, client.ErrNotFound) }

// over ignores an error that came after ctx was cancelled.
func over(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

// shut stops a node that has finished or released its work in time.
func shut(ctx context.Context, node *runtime.Runtime) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return node.Shutdown(ctx)
}
