package slidingwindow_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/slidingwindow"
	"github.com/perdure/perdure/orchestrationtest"
)

// Each record takes an hour, so 61 records take four hours with 20 at a time.
func TestWindowIsFullAcrossExecutions(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, slidingwindow.Record)
		orchestrationtest.Replace(e, slidingwindow.Convert, nil, orchestrationtest.Delay(time.Hour), orchestrationtest.Times(61))
		began := time.Now()
		h := orchestrationtest.Start(e, slidingwindow.Process, slidingwindow.Batch{Records: 61, Window: 20})
		if n, err := h.Wait(e.Context()); n != 61 || err != nil || time.Since(began) != 4*time.Hour {
			t.Errorf("%d records, %v after %v", n, err, time.Since(began))
		}
		if d, err := h.Describe(e.Context()); err != nil || d.Execution != 2 {
			t.Errorf("%d executions, %v", d.Execution, err)
		}
	})
}
