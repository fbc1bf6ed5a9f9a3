package transactions

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// counter counts by the update "add" until an event ends it.
func counter(ctx *orchestration.Context, _ struct{}) (int, error) {
	sum := 0
	orchestration.HandleUpdate(ctx, "add", func(_ *orchestration.Context, n int) (int, error) {
		sum += n
		return sum, nil
	})
	_, err := orchestration.Events[struct{}](ctx, "end").Receive(ctx)
	return sum, err
}

// An update in a transaction is sent if and only if that commits, and is waited for afterwards. Calls that wait take no transaction.
func TestHazard85_UpdatesAreSentInATransaction(t *testing.T) {
	t.Parallel()
	if _, ok := any(provider.Tx{}).(client.UpdateOption); ok {
		t.Error("InTx is an option of Update, which waits")
	}
	if _, ok := any(provider.Tx{}).(client.WaitOption); ok {
		t.Error("InTx is an option of Wait")
	}
	each(t, func(t *testing.T, h *house) {
		c := node(t, h, func(reg *runtime.Registry) { enginetest.Orchestration(t, reg, "counter", counter) })
		fn := orchestration.Define("counter", counter)
		var i client.Handle[int]
		var updates []client.UpdateHandle[int]
		h.within(t, func(tx transaction) bool {
			started, first, err := client.StartAndUpdate[int](t.Context(), c, fn, struct{}{}, "add", 1, tx.tx)
			if err != nil {
				t.Error(err)
				return false
			}
			second, err := client.SendUpdate[int](t.Context(), started, "add", 10, tx.tx, client.WithUpdateID("second"))
			if err != nil {
				t.Error(err)
				return false
			}
			i, updates = started, append(updates, first, second)
			return true
		})
		h.within(t, func(tx transaction) bool {
			if _, err := client.SendUpdate[int](t.Context(), i, "add", 100, tx.tx, client.WithUpdateID("undone")); err != nil {
				t.Error(err)
			}
			return false
		})
		for n, u := range updates {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if got, err := u.Wait(ctx); err != nil || got != []int{1, 11}[n] {
				t.Errorf("update %d: %d, %v", n, got, err)
			}
			cancel()
		}
		if _, err := client.SendUpdate[int](t.Context(), i, "add", 1, client.WithRequestID("r")); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an option of events: %v", err)
		}
		if err := i.Raise(t.Context(), "end", struct{}{}, client.WithUpdateID("u")); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an option of updates: %v", err)
		}
		if err := i.Raise(t.Context(), "end", struct{}{}); err != nil {
			t.Fatal(err)
		}
		if sum, err := i.Wait(t.Context()); err != nil || sum != 11 {
			t.Errorf("counted %d, %v", sum, err)
		}
		h.within(t, func(tx transaction) bool { // after the end
			again, err := client.SendUpdate[int](t.Context(), i, "add", 10, tx.tx, client.WithUpdateID("second"))
			if err != nil {
				t.Errorf("the repeat of an update that was done: %v", err)
				return false
			}
			if got, err := again.Wait(t.Context()); err != nil || got != 11 {
				t.Errorf("its outcome: %d, %v", got, err)
			}
			_, err = client.SendUpdate[int](t.Context(), i, "add", 10, tx.tx, client.WithUpdateID("late"))
			if !errors.Is(err, client.ErrEnded) {
				t.Errorf("an update after the end: %v", err)
			}
			return false
		})
	})
}
