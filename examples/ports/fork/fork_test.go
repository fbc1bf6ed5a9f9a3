package fork_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/fork"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestCopyGoesOnWithTheFailedStep(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		gathered := orchestrationtest.Replace(e, fork.Gather, fork.Gather, orchestrationtest.Delay(5*time.Hour))
		orchestrationtest.Replace(e, fork.Render, fork.Render, orchestrationtest.FailFirst(1, orchestration.NonRetryable(fork.ErrTemplate)))
		h := orchestrationtest.Start(e, fork.Report, "May", client.WithID("may"))
		if _, err := h.Wait(e.Context()); err == nil || !strings.Contains(err.Error(), "template") {
			t.Fatalf("the report ended with %v", err)
		}
		began := time.Now()
		again, err := fork.Again(e.Context(), e.Client(), "may", "may-2")
		if err != nil {
			t.Fatal(err)
		}
		page, err := again.Wait(e.Context())
		if page != "<h1>data of May</h1>" || err != nil || time.Since(began) >= time.Hour || len(gathered.Calls()) != 1 {
			t.Errorf("%q, %v after %v, gathered %d times", page, err, time.Since(began), len(gathered.Calls()))
		}
		if _, err := h.Wait(e.Context()); !errors.Is(err, client.ErrFailed) {
			t.Errorf("the first report has ended with %v since", err)
		}
		if _, err := fork.Again(e.Context(), e.Client(), "may-2", "may-3"); err == nil {
			t.Error("a report without a failure is tried again")
		}
	})
}
