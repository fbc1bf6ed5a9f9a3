package order

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func TestParseNamesTheField(t *testing.T) {
	const items = `"items": [{"sku": "a", "quantity": 2, "unit_cents": 150}]`
	for _, c := range []struct {
		text string
		says []string // nil: it is valid
	}{
		{`{"id": "o", "customer": "Ann", ` + items + `}`, nil},
		{`{"id": "o", "customer": "Ann", "decline": true, ` + items + `}`, nil},
		{`{"customer": "Ann", ` + items + `}`, []string{"id: is empty"}},
		{`{"id": " ", "customer": "", "items": []}`, []string{"id: is empty", "customer: is empty", "items: there are 0"}},
		{`{"id": "` + strings.Repeat("x", 101) + `", "customer": "Ann", ` + items + `}`, []string{"id: has 101 bytes"}},
		{`{"id": "a\u001b", "customer": "Ann", ` + items + `}`, []string{"id: ", "control characters"}},
		{`{"id": "o", "customer": "Ann", "items": [{"sku": "a", "quantity": 0, "unit_cents": -1}]}`, []string{"items[0].quantity: is 0", "items[0].unit_cents: is -1"}},
		{`{"id": 7}`, []string{"id: is a JSON number, must be a string"}},
		{`{"items": 7}`, []string{"items: is a JSON number, must be a list"}},
		{`{"items": [7]}`, []string{"items", "must be an object"}},
		{`{"items": [{"quantity": 1.5}]}`, []string{"items.quantity: is a JSON number 1.5, must be a whole number"}},
		{`{"decline": "yes"}`, []string{"decline: is a JSON string, must be true or false"}},
		{`{"ID2": "o"}`, []string{`unknown field "ID2"`}},
		{`{"id": "o"`, []string{"unexpected end"}},
		{``, []string{"unexpected end"}},
		{`{"id" "o"}`, []string{"not valid JSON at byte 7"}},
		{`[]`, []string{"not an order"}},
		{`{"id": "o", "customer": "Ann", ` + items + `} x`, []string{"text follows"}},
	} {
		o, err := Parse([]byte(c.text))
		if c.says == nil {
			if err != nil || o.Total() != 300 {
				t.Errorf("%s: total %d, %v", c.text, o.Total(), err)
			}
			continue
		}
		for _, part := range c.says {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error must say %q: %v", c.text, part, err)
			}
		}
	}
}

// shop runs the package's orchestration in this process.
type shop struct {
	t      *testing.T
	client *client.Client
	ledger *Ledger
}

func openShop(t *testing.T, watch func(Progress)) *shop {
	t.Helper()
	store := memory.New(memory.Options{})
	s := &shop{t: t}
	var err error
	if s.ledger, err = OpenLedger(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	reg := runtime.NewRegistry()
	if err := Register(reg, &Shop{Ledger: s.ledger, Watch: watch}); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.client, err = rt.Client(client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := rt.Shutdown(context.WithoutCancel(t.Context()))
		enginetest.CheckLeases(t, store)
		if err := errors.Join(err, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *shop) start(o Order) client.Handle[Receipt] {
	s.t.Helper()
	o.ID, o.Customer = "o", "Ann"
	o.Items = []Item{{SKU: "a", Quantity: 2, UnitCents: 150}}
	h, err := client.Start(s.t.Context(), s.client, Process, o, client.WithID("o"))
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// effects returns the applied effects, with all steps of packing as one.
func (s *shop) effects() string {
	s.t.Helper()
	entries, err := s.ledger.Read("o")
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Key[strings.LastIndexByte(e.Key, '/')+1:]
		if e.What == EntryEffect && (!strings.HasPrefix(name, "pack-") || name == "pack-10") {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name     string
		order    Order
		approval Approval
		status   string
		effects  string
	}{
		{"shipped", Order{}, Approval{Approved: true}, Shipped, "reserve pack-10 charge ship"},
		{"declined", Order{Decline: true}, Approval{Approved: true}, Refused, "reserve pack-10 unpack release"},
		{"not approved", Order{}, Approval{Reason: "no"}, Refused, "reserve pack-10 unpack release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openShop(t, nil)
			h := s.start(c.order)
			if err := h.Raise(t.Context(), ApprovalEvent, c.approval); err != nil {
				t.Fatal(err)
			}
			receipt, err := h.Wait(t.Context(), client.OrBlocked())
			if err != nil || receipt.Status != c.status || (receipt.Reason == "") != (c.status == Shipped) {
				t.Errorf("receipt %+v, %v", receipt, err)
			}
			if got := s.effects(); got != c.effects {
				t.Errorf("effects are %q, must be %q", got, c.effects)
			}
			s.checkNames(h)
		})
	}
}

// checkNames fails if a stored name could belong to a service, since the results of this package are made up.
func (s *shop) checkNames(h client.Handle[Receipt]) {
	s.t.Helper()
	for e, err := range h.History(s.t.Context(), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if scheduled := e.Kind == "ActivityScheduled" || e.Kind == "ExecutionStarted"; scheduled && !strings.HasPrefix(e.Name, "perdure-demo.") {
			s.t.Errorf("%s has the name %q", e.Kind, e.Name)
		}
	}
}

// An order that is cancelled is undone before it ends as cancelled, and with it the call that was under way.
func TestCancelledOrderIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		at      func(Progress) bool
		effects []string // one of them
	}{
		// Packing may hear of the cancellation before or after its last step, or may be faster.
		"packing": {func(p Progress) bool { return p.Step == PackSteps/2 }, []string{
			"reserve release", "reserve pack-10 release", "reserve pack-10 unpack release", "reserve pack-10 charge refund unpack release",
		}},
		"charging": {func(p Progress) bool { return p.Activity == "Charge" }, []string{"reserve pack-10 charge refund unpack release"}},
	} {
		t.Run(name, func(t *testing.T) {
			reached, cancelled := make(chan struct{}), make(chan struct{})
			s := openShop(t, func(p Progress) {
				p.Activity = strings.TrimPrefix(p.Activity, prefix)
				if c.at(p) {
					close(reached)
					<-cancelled
				}
			})
			h := s.start(Order{})
			if err := h.Raise(t.Context(), ApprovalEvent, Approval{Approved: true}); err != nil {
				t.Fatal(err)
			}
			<-reached
			err := h.Cancel(t.Context(), "test")
			close(cancelled)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Wait(t.Context(), client.OrBlocked()); !errors.Is(err, orchestration.ErrCancelled) {
				t.Errorf("it ended with %v, must be cancelled", err)
			}
			if got := s.effects(); !slices.Contains(c.effects, got) {
				t.Errorf("effects are %q, must be one of %q", got, c.effects)
			}
		})
	}
}
