package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// carts has "cart", which notes each item that it takes, by event or update, and ends with the event or update "pay".
func carts(t testing.TB, items *enginetest.Notes[string]) (*runtime.Registry, func(*orchestration.Context, int) (int, error)) {
	t.Helper()
	reg := runtime.NewRegistry()
	cart := orchestration.Define("cart", func(ctx *orchestration.Context, _ int) (n int, err error) {
		paid := false
		orchestration.HandleUpdate(ctx, "pay", func(_ *orchestration.Context, item string) (int, error) {
			items.Add(item)
			paid = true
			return 1, nil
		})
		orchestration.HandleEvent(ctx, "item", func(_ *orchestration.Context, item string) error {
			items.Add(item)
			n++
			paid = paid || strings.HasPrefix(item, "pa")
			return nil
		})
		err = ctx.Await(func() bool { return paid })
		return n, err
	})
	if err := runtime.AddOrchestration(reg, cart); err != nil {
		t.Fatal(err)
	}
	return reg, cart
}

// TestHazard126_LostAnswersDoubleNothing: a start with UseRunning gives its event or update to one instance once: to the one that runs, else to a new
// one. That holds when answers are lost, and the instance that took it ends before the next try, and when the caller repeats it.
func TestHazard126_LostAnswersDoubleNothing(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1, 2, 3} { // of the first calls, as many answers
		for _, before := range []string{"none", "running", "ended"} {
			for _, update := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d/%s/%v", lost, before, update), func(t *testing.T) {
					t.Parallel()
					enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) { lostAnswers(e, lost, before, update) })
				})
			}
		}
	}
}

func lostAnswers(e *enginetest.Engine, lost int, before string, update bool) {
	t := e.T
	var items enginetest.Notes[string]
	reg, cart := carts(t, &items)
	e.Start(reg)
	sound := e.Client(client.Options{})
	var old client.Handle[int]
	if before != "none" {
		old = begin(t, sound, "cart", 0, client.WithID("c"))
		if before == "ended" {
			if err := old.Raise(t.Context(), "item", "paid"); err != nil {
				t.Fatal(err)
			}
			if _, err := old.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	plan := faulty.NewPlan(1)
	for n := range lost {
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, First: n + 1, Kind: faulty.After})
	}
	c := clienttest.New(t, faulty.Wrap(e.Store, plan), client.Options{})
	opts := []client.StartOption{client.WithID("c"), client.WithIDPolicy(client.UseRunning), client.WithRequestID("click")}
	start := func() (client.Handle[int], error) {
		if update {
			h, _, err := client.StartAndUpdate[int](t.Context(), c, cart, 0, "pay", "pay this", opts...)
			return h, err
		}
		return client.Start(t.Context(), c, cart, 0, append(opts, client.WithEvent("item", "pay this"))...)
	}
	first, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := start()
	if err != nil || again.Key() != first.Key() {
		t.Errorf("the repeat got %v, %v, not %v", again, err, first)
	}
	taken := 0
	for _, item := range items.All() {
		if item == "pay this" {
			taken++
		}
	}
	if taken != 1 || (before == "running") != (first.Key() == old.Key()) {
		t.Errorf("taken %d times, by %v; before there was %v", taken, first, old)
	}
}

// TestHazard126_SomebodyElseReplaces: between the two steps somebody else replaces the ended instance. What became of the start is not known.
func TestHazard126_SomebodyElseReplaces(t *testing.T) {
	t.Parallel()
	store := &replacing{Provider: memory.New(memory.Options{})}
	e := enginetest.On(t, store.Provider, runtime.Options{})
	var items enginetest.Notes[string]
	reg, cart := carts(t, &items)
	old := begin(t, e.Client(client.Options{}), "cart", 0, client.WithID("c"))
	if err := old.Terminate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	store.other = func() {
		begin(t, e.Client(client.Options{}), "cart", 0, client.WithID("c"), client.WithIDPolicy(client.ReplaceEnded))
	}
	c := clienttest.New(t, store, client.Options{})
	_, err := client.Start(t.Context(), c, cart, 0, client.WithID("c"), client.WithIDPolicy(client.UseRunning), client.WithEvent("item", "a"))
	if !errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	e.Start(reg)
	if h, err := client.Start(t.Context(), c, cart, 0, client.WithID("c"), client.WithIDPolicy(client.UseRunning), client.WithEvent("item", "paid")); err != nil {
		t.Error(err)
	} else if n, err := h.Wait(t.Context()); n != 1 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}

// replacing is a store in which somebody else acts before the first ReplaceEnded.
type replacing struct {
	provider.Provider

	other func()
}

func (s *replacing) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.Policy == provider.IDReplaceEnded && s.other != nil {
		other := s.other
		s.other = nil
		other()
	}
	return s.Provider.Create(ctx, req)
}
