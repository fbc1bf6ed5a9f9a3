package lock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/lock"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// The second job is cancelled while it waits, and the third is terminated while it prints: its lease expires.
func TestJobsTakeTurns(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, lock.Serve)
		prints := orchestrationtest.Replace(e, lock.Feed, nil, orchestrationtest.Delay(time.Hour))
		began := time.Now()
		var jobs []orchestrationtest.Handle[time.Time]
		for i := range 5 {
			jobs = append(jobs, orchestrationtest.Start(e, lock.Print, "laser", client.WithID(fmt.Sprintf("job-%d", i))))
			e.Sleep(time.Minute)
		}
		if err := jobs[1].Cancel(e.Context(), "no need"); err != nil {
			t.Fatal(err)
		}
		e.After(time.Hour+10*time.Minute, func() error { return jobs[2].Terminate(e.Context(), "the printer smokes") })
		for i, want := range map[int]time.Duration{0: time.Hour, 3: 26 * time.Hour, 4: 27 * time.Hour} {
			at, err := jobs[i].Wait(e.Context())
			if err != nil || at.Sub(began) != want {
				t.Errorf("job %d ended after %v, %v, want %v", i, at.Sub(began), err, want)
			}
		}
		if _, err := jobs[1].Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) {
			t.Errorf("job 1 ended with %v", err)
		}
		if n := len(prints.Calls()); n != 4 {
			t.Errorf("%d jobs printed", n)
		}
	})
}
