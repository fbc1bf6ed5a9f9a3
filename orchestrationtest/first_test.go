package orchestrationtest_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func Hello(_ context.Context, name string) (string, error) { return "Hello, " + name + "!", nil }

func Greet(ctx *orchestration.Context, name string) (string, error) {
	return orchestration.CallActivity(ctx, Hello, name)
}

func TestGreet(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, Hello)
		h := orchestrationtest.Start(e, Greet, "Ann")
		if got, err := h.Wait(e.Context()); got != "Hello, Ann!" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
