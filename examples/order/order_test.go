package order

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
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

// open adds a shop whose steps of packing take a second. It returns the ledger of the shop.
func open(t *testing.T, e *orchestrationtest.Env, watch func(Progress)) *Ledger {
	t.Helper()
	ledger, err := OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e.Register(func(reg *runtime.Registry) error {
		return Register(reg, &Shop{Ledger: ledger, StepTime: time.Second, Watch: watch})
	})
	return ledger
}

func start(e *orchestrationtest.Env, o Order) orchestrationtest.Handle[Receipt] {
	o.ID, o.Customer = "o", "Ann"
	o.Items = []Item{{SKU: "a", Quantity: 2, UnitCents: 150}}
	return orchestrationtest.Start(e, Process, o, client.WithID("o"))
}

// effects returns the applied effects, with all steps of packing as one.
func effects(t *testing.T, ledger *Ledger) string {
	t.Helper()
	entries, err := ledger.Read("o")
	if err != nil {
		t.Fatal(err)
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
	for name, c := range map[string]struct {
		order    Order
		approval *Approval // nil: none comes
		status   string
		effects  string
	}{
		"shipped":      {Order{}, &Approval{Approved: true}, Shipped, "reserve pack-10 charge ship"},
		"declined":     {Order{Decline: true}, &Approval{Approved: true}, Refused, "reserve pack-10 unpack release"},
		"not approved": {Order{}, &Approval{Reason: "no"}, Refused, "reserve pack-10 unpack release"},
		"no approval":  {Order{}, nil, Refused, "reserve pack-10 unpack release"},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				ledger := open(t, e, nil)
				h := start(e, c.order)
				if c.approval != nil {
					e.After(23*time.Hour, func() error { return h.Raise(e.Context(), ApprovalEvent, *c.approval) })
				}
				receipt, err := h.Wait(e.Context())
				if err != nil || receipt.Status != c.status || (receipt.Reason == "") != (c.status == Shipped) {
					t.Errorf("receipt %+v, %v", receipt, err)
				}
				if got := effects(t, ledger); got != c.effects {
					t.Errorf("effects are %q, must be %q", got, c.effects)
				}
				for _, event := range e.History(h) { // a name without the prefix could belong to a service
					scheduled := event.Kind == "ActivityScheduled" || event.Kind == "ExecutionStarted"
					if scheduled && !strings.HasPrefix(event.Name, "perdure-demo.") {
						t.Errorf("%s has the name %q", event.Kind, event.Name)
					}
				}
			})
		})
	}
}

// An order that is cancelled is undone before it ends as cancelled, and with it the call that was under way.
func TestCancelledOrderIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		at      func(Progress) bool
		effects string
	}{
		"packing":  {func(p Progress) bool { return p.Step == PackSteps/2 }, "reserve release"},
		"charging": {func(p Progress) bool { return p.Activity == prefix+"Charge" }, "reserve pack-10 charge refund unpack release"},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				var h orchestrationtest.Handle[Receipt]
				ledger := open(t, e, func(p Progress) {
					if !c.at(p) {
						return
					}
					if err := h.Cancel(e.Context(), "test"); err != nil {
						t.Error(err)
					}
				})
				h = start(e, Order{})
				if err := h.Raise(e.Context(), ApprovalEvent, Approval{Approved: true}); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) {
					t.Errorf("it ended with %v, must be cancelled", err)
				}
				if got := effects(t, ledger); got != c.effects {
					t.Errorf("effects are %q, must be %q", got, c.effects)
				}
			})
		})
	}
}
