package failures_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/examples/failures"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// checkout returns how a checkout ends.
func checkout(e *orchestrationtest.Env, cents int) (string, error) {
	return orchestrationtest.Start(e, failures.Checkout, cents).Wait(e.Context())
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(failures.Register)
		if out, err := checkout(e, 600); out != "please use another card" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		_, err := checkout(e, 1200)
		if limit, ok := errors.AsType[*failures.LimitError](err); !ok || *limit != (failures.LimitError{Limit: 1000, Asked: 1200}) {
			t.Errorf("%v, want the limit", err)
		}
		if _, err := checkout(e, -1); !errors.Is(err, orchestration.ErrPanic) {
			t.Errorf("%v, want a panic", err)
		}
	})
}

// An unregistered error keeps its message, its type name and its causes.
func TestUnregisteredError(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, failures.Charge)
		_, err := checkout(e, 1200)
		_, found := errors.AsType[*failures.LimitError](err)
		stored, ok := errors.AsType[*orchestration.Error](err)
		if found || !ok || stored.Type != "*failures.LimitError" || stored.Message != "1200 is over the limit of 1000" {
			t.Errorf("%v, %+v", found, stored)
		}
	})
}
