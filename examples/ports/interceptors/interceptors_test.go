package interceptors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/interceptors"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// The second execution has a budget of its own. A retry is another attempt, but no other call.
func TestBudgetAndTimes(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var mu sync.Mutex
		var measured []string
		e.Register(func(reg *runtime.Registry) error {
			return interceptors.Register(reg, 3, func(activity string, attempt int, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				measured = append(measured, fmt.Sprint(activity, " ", attempt, " ", took))
			})
		})
		said := orchestrationtest.Replace(e, interceptors.Say, func(_ context.Context, name string) (string, error) { return "hi " + name, nil },
			orchestrationtest.FailFirst(1, errors.New("hoarse")), orchestrationtest.Delay(time.Second))
		h := orchestrationtest.Start(e, interceptors.Greet, []string{"ann", "bob", "eve"})
		if n, err := h.Wait(e.Context()); n != 3 || err != nil {
			t.Errorf("greeted %d, %v", n, err)
		}
		h = orchestrationtest.Start(e, interceptors.Greet, []string{"ann", "bob", "eve", "joe"})
		if _, err := h.Wait(e.Context()); !errors.Is(err, interceptors.ErrBudget) {
			t.Errorf("the fourth call: %v", err)
		}
		if n := len(said.Calls()); n != 7 {
			t.Errorf("%d attempts", n)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(measured) != 7 || !slices.Contains(measured, "Say 2 1s") {
			t.Errorf("measured %q", measured)
		}
	})
}
