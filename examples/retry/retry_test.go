package retry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/retry"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddActivity(reg, retry.Charge), runtime.AddActivity(reg, retry.Hang), runtime.AddActivity(reg, retry.Ask),
		runtime.AddError(reg, "no-card", retry.ErrNoCard), retry.Register(reg),
	)
}

// ends checks how an orchestration ends, and how long it takes.
func ends[In any](t *testing.T, fn func(*orchestration.Context, In) (string, error), in In, want string, after time.Duration) {
	t.Helper()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(register)
		began := time.Now()
		out, err := orchestrationtest.Start(e, fn, in).Wait(e.Context())
		if took := time.Since(began); out != want || err != nil || took < after || took > 2*after {
			t.Errorf("%q, %v after %v, want %q after %v or more", out, err, took, want, after)
		}
	})
}

func TestThirdAttemptPays(t *testing.T) {
	ends(t, retry.Pay, "card 7", "paid with card 7", 40*time.Millisecond)
}

func TestServiceSaysWhenToComeAgain(t *testing.T) {
	ends(t, retry.Patient, "how many", "how many? 42", 20*time.Millisecond)
}

func TestTimeouts(t *testing.T) {
	ends(t, retry.Impatient, orchestration.None{}, "gave up after two attempts", 40*time.Millisecond)
	ends(t, retry.Bounded, orchestration.None{}, "gave up after 50 ms", 50*time.Millisecond)
}

func TestNoCardIsNotTriedAgain(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(register)
		charges := orchestrationtest.Replace(e, retry.Charge, retry.Charge)
		_, err := orchestrationtest.Start(e, retry.Pay, "").Wait(e.Context())
		if !errors.Is(err, retry.ErrNoCard) || len(charges.Calls()) != 1 {
			t.Errorf("%v after %d charges", err, len(charges.Calls()))
		}
	})
}

func TestDefaults(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(register)
		if out, err := orchestrationtest.Start(e, retry.Send, "parcel 3").Wait(e.Context()); out != "shipped parcel 3" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if out, err := orchestrationtest.Start(e, retry.Order, "card 7").Wait(e.Context()); out != "paid with card 7, shipped parcel 7" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}
