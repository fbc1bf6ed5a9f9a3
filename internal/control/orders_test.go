package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

func open(t *testing.T) *provider.Full {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return provider.FullOf(store)
}

// Orders that are given at the same time are all stored, and each raises the version.
func TestOrdersAtTheSameTime(t *testing.T) {
	t.Parallel()
	store := open(t)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			_, err := control.Change(t.Context(), store, func(o *control.Orders) { o.Pause(fmt.Sprint(i), control.Order{Reason: fmt.Sprint(i)}) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	o, err := control.Read(t.Context(), store)
	if err != nil || len(o.Paused) != 10 || o.Version != 10 || o.Paused["3"].Reason != "3" {
		t.Errorf("%+v, %v", o, err)
	}
	// An order that stands already is not written again, and keeps its reason.
	again, err := control.Change(t.Context(), store, func(o *control.Orders) { o.Pause("3", control.Order{Reason: "later"}) })
	if err != nil || again.Version != 10 || again.Paused["3"].Reason != "3" {
		t.Errorf("%+v, %v", again, err)
	}
}

// behind is a clock that is an hour behind the machine's.
type behind struct{}

func (behind) Now() time.Time { return time.Now().Add(-time.Hour) }

func (behind) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// The time of an order is the storage's, whatever the clock of the caller shows: those of several callers are compared.
func TestOrdersHaveTheTimeOfTheStorage(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{Clock: behind{}})
	t.Cleanup(func() { _ = store.Close() })
	for name, change := range map[string]func(o *control.Orders){
		"first": func(o *control.Orders) { o.Pause("q", control.Order{}) },
		"second": func(o *control.Orders) {
			o.Drain("n", control.Order{At: provider.TimeOf(time.Now())}, func(string) bool { return true })
		},
	} {
		if _, err := control.Change(t.Context(), provider.FullOf(store), change); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	o, err := control.Read(t.Context(), provider.FullOf(store))
	if err != nil || len(o.Paused) != 1 || len(o.Drained) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	for _, at := range []provider.Time{o.Paused["q"].At, o.Drained["n"].At} {
		if ago := time.Since(at.Std()); ago < 59*time.Minute || ago > 2*time.Hour {
			t.Errorf("an order is %v old, want the hour that the storage's clock is behind", ago)
		}
	}
}

// Orders to nodes that have left the list go with the next drain.
func TestOrdersToNodesThatHaveLeftGo(t *testing.T) {
	t.Parallel()
	store := open(t)
	for _, owner := range []string{"a", "b", "c"} {
		_, err := control.Change(t.Context(), store, func(o *control.Orders) {
			o.Drain(owner, control.Order{}, func(listed string) bool { return listed != "a" })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o, err := control.Read(t.Context(), store)
	if _, gone := o.Drained["a"]; err != nil || gone || len(o.Drained) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOrdersHaveALimit(t *testing.T) {
	t.Parallel()
	store := open(t)
	fill := func(n int) error {
		_, err := control.Change(t.Context(), store, func(o *control.Orders) {
			for i := range n {
				o.Pause(fmt.Sprintf("%d-%s", i, strings.Repeat("x", 100)), control.Order{Reason: strings.Repeat("r", 100)})
			}
		})
		return err
	}
	if err := fill(control.MaxOrders); err != nil {
		t.Fatal(err)
	}
	if err := fill(control.MaxOrders + 1); !errors.Is(err, control.ErrTooMany) {
		t.Errorf("%v", err)
	}
	if o, err := control.Read(t.Context(), store); err != nil || len(o.Paused) != control.MaxOrders {
		t.Errorf("%d orders, %v", len(o.Paused), err)
	}
}

// A record that cannot be read is an error, and is not overwritten.
func TestDamagedOrdersAreNotOverwritten(t *testing.T) {
	t.Parallel()
	store := open(t)
	_, err := store.Record(t.Context(), provider.RecordRequest{
		Action: provider.RecordPut, Namespace: "perdure/control", Key: "orders", Value: []byte("{"),
	})
	if err != nil {
		t.Fatal(err)
	}
	called := false
	if _, err := control.Change(context.WithoutCancel(t.Context()), store, func(*control.Orders) { called = true }); err == nil || called {
		t.Errorf("%v", err)
	}
}
