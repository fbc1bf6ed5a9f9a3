package dispatcher_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// A function that does not come back must not hold the store's transaction for ever: the attempt fails with a timeout.
func TestFunctionDoesNotComeBack(t *testing.T) {
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		hanging := make(chan struct{})
		rt := e.Start(single(e, func(ctx context.Context, n int) (int, error) {
			return n, memory.OnComplete(ctx, func(*memory.Tx) error {
				<-hanging
				return nil
			})
		}))
		key := e.Create("i", "single", 1)
		e.WaitEnded(key)
		if _, err := enginetest.Result[int](e, key, nil); !errors.Is(err, orchestration.ErrTimeout) {
			t.Errorf("the instance ended with %v", err)
		}
		if w := leakedOne(e, rt); w.Kind != runtime.LeakedCompletion || w.Name != "work" || w.InstanceID != "i" || !strings.Contains(w.Stack, "OnComplete") {
			t.Errorf("%+v", w)
		}
		close(hanging)
		synctest.Wait() // it is not left behind any more
		if all := rt.Leaked(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
}
