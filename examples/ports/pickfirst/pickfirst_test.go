package pickfirst_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/pickfirst"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestFirstAnswerStopsTheOthers(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var stopped atomic.Int32
		orchestrationtest.Replace(e, pickfirst.Search, func(ctx context.Context, q pickfirst.Question) (string, error) {
			if q.Service == "south" {
				time.Sleep(10 * time.Second) // takes no real time in the bubble of the test
				return "42", nil
			}
			answer, err := pickfirst.Search(ctx, q)
			if err != nil {
				stopped.Add(1)
			}
			return answer, err
		})
		began := time.Now()
		got, err := orchestrationtest.Start(e, pickfirst.Ask, "life").Wait(e.Context())
		if got != [2]string{"south", "42"} || err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("%v, %v after %v", got, err, time.Since(began))
		}
		e.Sleep(time.Minute)
		if stopped.Load() != 2 {
			t.Errorf("%d searches have stopped", stopped.Load())
		}
	})
}
