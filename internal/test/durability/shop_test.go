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

// Order is paid for, packed, and approved by somebody outside.
func Order(ctx *orchestration.Context, in string) (string, error) {
	id := strings.TrimPrefix(in, told{what: started}.mark())
	payment, err := orchestration.Events[string](ctx, "paid").Receive(ctx)
	if err != nil {
		return "", err
	}
	parcel, err := orchestration.CallActivityNamed[string](ctx, "pack", told{what: packing, id: id}.mark())
	if err != nil {
		return "", err
	}
	approval, err := orchestration.CallActivityNamed[string](ctx, "approve", told{what: asking, id: id}.mark())
	return outcome(id, payment, parcel, approval), err
}

// large is the name of the shop whose outcomes are so long that few orders fill a log.
const large = "l"

// bulk is how long an outcome is. What fills it comes last, so that marks are never cut in two by the end of a page.
func bulk(id string) int {
	if strings.HasPrefix(id, large) {
		return 40 << 10
	}
	return 8 << 10
}

func outcome(id, payment, parcel, approval string) string {
	return strings.Join([]string{told{what: ended, id: id}.mark(), payment, parcel, approval, strings.Repeat("-", bulk(id))}, " ")
}

// implied is the outcome that the code of Order implies.
func implied(id string) string {
	return outcome(id, told{what: paid, id: id}.mark(), "parcel-"+id, told{what: approved, id: id}.mark())
}

// shop is a node and its clients on one store, which tell of all that they are told. Nothing that they do depends on who listens.
type shop struct {
	store  provider.Provider
	client *client.Client
	tell   func(told)
	asked  chan told // the activities that are asking, to be approved
}

// maxAsked is more than ask at the same time.
const maxAsked = 10_000

func newShop(store provider.Provider, tell func(told)) *shop {
	return &shop{store: store, tell: tell, asked: make(chan told, maxAsked)}
}

// open starts the node and makes the client, which starts orders through it.
func (s *shop) open(ctx context.Context) (*runtime.Runtime, error) {
	reg := runtime.NewRegistry()
	pack := func(_ context.Context, in string) (string, error) {
		t, err := parse(in)
		s.tell(t)
		return "parcel-" + t.id, err
	}
	ask := func(ctx context.Context, in string) (string, error) {
		t, err := parse(in)
		if err != nil {
			return "", err
		}
		t.token = activity.Token(ctx)
		s.tell(t)
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

// serve places orders, one after the other for each of the customers, and answers those who ask: n orders, 0: until ctx ends.
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
				if err := s.order(ctx, orderID(name, i)); err != nil {
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

// perform serves so many orders, rests for a moment in which the log may be copied into the file, and serves six for one customer alone: as
// long as others read, SQLite does not begin its log anew.
func (s *shop) perform(ctx context.Context, name string, orders int) error {
	if err := s.serve(ctx, name, customers, orders); err != nil {
		return err
	}
	pass(20 * time.Millisecond)
	return s.serve(ctx, "z", 1, 6)
}

// pass lets a moment pass, in which the processes go on. Nothing waits for it to have passed.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// customers is how many order at the same time.
const customers = 8

// order places an order and waits for its end.
func (s *shop) order(ctx context.Context, id string) error {
	h, err := client.Start(ctx, s.client, Order, told{what: started, id: id}.mark(), client.WithID(id), client.WithRequestID("start"))
	if err != nil {
		return over(ctx, err)
	}
	s.tell(told{what: started, id: id})
	switch err := s.pay(ctx, h); {
	case err == nil:
		s.tell(told{what: paid, id: id})
	case errors.Is(err, client.ErrOutcomeUnknown) && errors.Is(err, client.ErrEnded):
		// The call whose answer was lost has stored the payment, and the order has ended before the client repeated it.
	default:
		return over(ctx, err)
	}
	return over(ctx, s.await(ctx, h))
}

func (s *shop) pay(ctx context.Context, h client.Handle[string]) error {
	return h.Raise(ctx, "paid", told{what: paid, id: h.ID()}.mark(), client.WithRequestID("pay"))
}

func (s *shop) await(ctx context.Context, h client.Handle[string]) error {
	out, err := h.Wait(ctx, client.OrBlocked())
	if err != nil {
		return err
	}
	s.tell(told{what: ended, id: h.ID()})
	if out != implied(h.ID()) {
		return fmt.Errorf("order %s ended with %.100q", h.ID(), out)
	}
	return nil
}

// approveAll completes the activities that are asking.
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

// approve completes an activity. A token of an attempt that was lost is void; there is another one then.
func (s *shop) approve(ctx context.Context, t told) error {
	done := told{what: approved, id: t.id}
	err := client.CompleteActivity(ctx, s.client, t.token, done.mark())
	switch {
	case errors.Is(err, activity.ErrLeaseLost), errors.Is(err, activity.ErrAlreadyCompleted), errors.Is(err, client.ErrEnded):
		return nil
	case err != nil:
		return fmt.Errorf("approving %s: %w", t.id, err)
	}
	s.tell(done)
	return nil
}

// over forgives what failed because it was called off.
func over(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

// shut stops a node, which has finished or given back what it has within the time.
func shut(ctx context.Context, node *runtime.Runtime) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return node.Shutdown(ctx)
}
