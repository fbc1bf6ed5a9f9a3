package requestbyupdate_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/requestbyupdate"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestCallersWaitAtTheSameTime(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		work := orchestrationtest.Replace(e, requestbyupdate.Upper, requestbyupdate.Upper, orchestrationtest.Delay(time.Hour))
		h := orchestrationtest.Start(e, requestbyupdate.Serve, 0)
		began := time.Now()
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				got, err := requestbyupdate.Ask(e.Context(), h.Handle, fmt.Sprint(i/2), fmt.Sprintf("text %d", i/2)) // each comes twice
				if want := fmt.Sprintf("TEXT %d", i/2); got != want || err != nil || time.Since(began) != time.Hour {
					t.Errorf("%q, %v after %v, want %q", got, err, time.Since(began), want)
				}
			})
		}
		callers.Wait()
		if _, err := requestbyupdate.Ask(e.Context(), h.Handle, "empty", ""); !errors.Is(err, client.ErrRejected) {
			t.Errorf("an empty request: %v", err)
		}
		if err := h.Raise(e.Context(), "stop", nil); err != nil {
			t.Fatal(err)
		}
		if n, err := h.Wait(e.Context()); n != 10 || err != nil || len(work.Calls()) != 10 {
			t.Errorf("%d answered, %v, by %d calls", n, err, len(work.Calls()))
		}
	})
}

// Requests that come one after the other go on in the next execution.
func TestManyRequests(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, requestbyupdate.Upper)
		h := orchestrationtest.Start(e, requestbyupdate.Serve, 0)
		for i := range 501 {
			if _, err := requestbyupdate.Ask(e.Context(), h.Handle, fmt.Sprint(i), "x"); err != nil {
				t.Fatal(i, err)
			}
		}
		if err := h.Raise(e.Context(), "stop", nil); err != nil {
			t.Fatal(err)
		}
		n, err := h.Wait(e.Context())
		d, err2 := h.Describe(e.Context())
		if n != 501 || d.Execution != 2 || err != nil || err2 != nil {
			t.Errorf("%d answered in %d executions, %v, %v", n, d.Execution, err, err2)
		}
	})
}
