package durability

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// missing returns the acknowledgements whose data is not stored.
func missing(ctx context.Context, store provider.Provider, all []ack) (lost []ack, err error) {
	orders := make(map[string][]ack)
	for _, t := range all {
		orders[t.id] = append(orders[t.id], t)
	}
	for id, of := range orders {
		holds, err := stored(ctx, store, id)
		if err != nil {
			return nil, err
		}
		for _, t := range of {
			if !holds(t) {
				lost = append(lost, t)
			}
		}
	}
	return lost, nil
}

// stored returns a function that reports whether the store holds the data of an acknowledgement. The data is in the
// history, in the outcome, or a message in the inbox, which shows only its kind.
func stored(ctx context.Context, store provider.Provider, id string) (func(ack) bool, error) {
	c, err := client.New(store, client.Options{})
	if err != nil {
		return nil, err
	}
	d, err := c.Describe(ctx, id)
	if errors.Is(err, client.ErrNotFound) {
		return func(ack) bool { return false }, nil
	}
	if err != nil {
		return nil, err
	}
	waiting, err := inbox(ctx, store, d.Key) // before the history, into which a turn may move the messages
	if err != nil {
		return nil, err
	}
	text := strings.Builder{}
	for e, err := range client.HandleOf[string](c, d.ID, d.Key).History(ctx, d.Execution) {
		if err != nil {
			return nil, err
		}
		text.Write(e.Input)
		text.Write(e.Output)
	}
	return func(t ack) bool {
		switch {
		case strings.Contains(text.String(), t.mark()):
			return t.what != ended || d.Status == client.StatusCompleted && strings.Contains(string(d.Result), t.mark())
		case t.what == started:
			return waiting[history.KindExecutionStarted]
		case t.what == paid:
			return waiting[history.KindEventReceived]
		case t.what == approved:
			return waiting[history.KindActivityCompleted]
		}
		return false
	}, nil
}

// inbox returns the kinds of messages that wait for an instance.
func inbox(ctx context.Context, store provider.Provider, key provider.UUID) (map[history.Kind]bool, error) {
	rows, ok := provider.As[provider.Inspector](store)
	if !ok {
		return nil, errors.New("the store does not show its rows")
	}
	page, err := rows.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectMessages, Key: key})
	kinds := make(map[history.Kind]bool)
	for _, m := range page.Messages {
		kinds[history.Kind(m.Kind)] = true
	}
	return kinds, err
}

// keeps fails the test for every acknowledgement whose data is not stored.
func keeps(t *testing.T, store provider.Provider, all []ack) {
	t.Helper()
	lost, err := missing(t.Context(), store, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lost[:min(len(lost), 10)] {
		t.Errorf("acknowledged but lost: %s", l.mark())
	}
	if len(lost) > 0 {
		t.Errorf("%d of %d are lost", len(lost), len(all))
	}
}

// sound fails the test if the store violates an invariant of the engine.
func sound(t *testing.T, store provider.Provider, o invariant.Options) {
	t.Helper()
	report, err := invariant.Check(t.Context(), provider.FullOf(store), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings[:min(len(report.Findings), 10)] {
		t.Errorf("the store is broken: %v", f)
	}
	if o.Idle && len(report.Skipped) > 0 {
		t.Errorf("not checked: %v", report.Skipped)
	}
}

// done returns what is wrong with an order that should have ended.
func done(i provider.Instance, o history.Outcome) error {
	if want := fmt.Sprintf("%q", implied(i.ID)); i.Status != provider.StatusCompleted || string(o.Output) != want {
		return fmt.Errorf("it is %s with %.100s, must be %.100s", i.Status, o.Output, want)
	}
	return nil
}

// finish lets a new node bring all orders of a store to their end. Acknowledged payments are not repeated, so an order
// whose payment is lost never ends.
func finish(t *testing.T, store provider.Provider, all []ack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a lease of a commit that was lost lasts half of it
	defer cancel()
	heard := make(map[string]bool)
	for _, a := range all {
		heard[a.mark()] = true
	}
	var s *shop
	s = newShop(store, func(a ack) {
		if a.what == asking {
			s.asked <- a
		}
	})
	node, err := s.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.what == asking && !heard[ack{what: approved, id: a.id}.mark()] {
			s.asked <- a
		}
	}
	clerk, closed := context.WithCancel(ctx)
	var clerks errgroup.Group
	clerks.Go(func() error { return s.approveAll(clerk) })
	for d, err := range s.client.All(ctx, client.Filter{}) {
		if err == nil {
			err = s.bringToEnd(ctx, client.HandleOf[string](s.client, d.ID, d.Key), heard, d.Status.Ended())
		}
		if err != nil {
			t.Errorf("order %s: %v", d.ID, err)
			break
		}
	}
	closed()
	if err := errors.Join(clerks.Wait(), shut(t.Context(), node)); err != nil {
		t.Error(err)
	}
}

// bringToEnd does what the customer of an order has left to do.
func (s *shop) bringToEnd(ctx context.Context, h client.Handle[string], heard map[string]bool, ended bool) error {
	if ended {
		return nil
	}
	if !heard[ack{what: paid, id: h.ID()}.mark()] {
		if err := s.pay(ctx, h); err != nil && !errors.Is(err, client.ErrEnded) {
			return err
		}
	}
	return s.await(ctx, h)
}
