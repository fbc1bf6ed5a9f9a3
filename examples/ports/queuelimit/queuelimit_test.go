package queuelimit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/queuelimit"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// Sixty documents of 10 s each would take 2 min, five at a time. The rate makes that 3 min.
func TestServiceIsNotOverloaded(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var now, most atomic.Int32
		orchestrationtest.AddOrchestration(e, queuelimit.Document)
		orchestrationtest.Replace(e, queuelimit.Translate, func(_ context.Context, text string) (string, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(10 * time.Second) // takes no real time in the bubble of the test
			now.Add(-1)
			return text, nil
		}, orchestrationtest.OnQueue(queuelimit.Queue))
		documents := map[string]string{}
		for i := range 60 {
			documents[fmt.Sprint(i)] = fmt.Sprintf("text %d", i)
		}
		began := time.Now()
		for range 2 { // the second call is a repeat
			handles, err := queuelimit.Enqueue(e.Context(), e.Client(), documents)
			if err != nil || len(handles) != 60 {
				t.Fatal(len(handles), err)
			}
			for _, h := range handles {
				if _, err := h.Wait(e.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		if took := time.Since(began); most.Load() > 5 || took < 2*time.Minute+57*time.Second || took > 3*time.Minute+30*time.Second {
			t.Errorf("%d at a time, %v in all", most.Load(), took)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.QueueLimits = queuelimit.Limits() }))
}
