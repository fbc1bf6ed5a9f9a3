package validations

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A store over several databases finds an instance by its ID and by its key, so that each key must be in the slot of its ID. The
// cases keep to it.
func TestSuiteFitsDividedStores(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, c := range cases() {
		if c.slow {
			continue
		}
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range attempt(t, c, dividedBySlots, false) {
				t.Error(f)
			}
		})
	}
}

// dividedBySlots refuses what such a store would not find again.
func dividedBySlots(m *mutant) {
	m.create.around(func(ctx context.Context, req provider.CreateRequest, inner createMethod) (res provider.CreateResult, err error) {
		if err := fits(&req); err != nil {
			return res, err
		}
		return inner(ctx, req)
	})
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, inner commitMethod) (res provider.CommitTurnResult, err error) {
		for n := range req.Starts {
			if err := fits(&req.Starts[n].Create); err != nil {
				return res, err
			}
		}
		return inner(ctx, req)
	})
	m.createIn.around(func(ctx context.Context, req createInRequest, inner createInMethod) (res provider.CreateResult, err error) {
		if err := fits(&req.CreateRequest); err != nil {
			return res, err
		}
		return inner(ctx, req)
	})
	m.forks.around(func(
		ctx context.Context, req provider.ForkRequest, inner method[provider.ForkRequest, provider.CreateResult],
	) (res provider.CreateResult, err error) {
		if err := fits(&req.Create); err != nil {
			return res, err
		}
		return inner(ctx, req)
	})
	m.ask.around(func(
		ctx context.Context, req provider.AskRequest, inner method[provider.AskRequest, provider.AskResult],
	) (res provider.AskResult, err error) {
		slot := provider.SlotOfID(req.ID)
		if !req.Key.IsZero() {
			slot = provider.SlotOf(req.Key)
		}
		if !req.AskID.IsZero() && provider.SlotOf(req.AskID) != slot {
			return res, fmt.Errorf("question %s has slot %d, its instance %d: %w", req.AskID, provider.SlotOf(req.AskID), slot, provider.ErrInvalid)
		}
		return inner(ctx, req)
	})
}

func fits(req *provider.CreateRequest) error {
	if got, want := provider.SlotOf(req.Key), provider.SlotOfID(req.ID); req.ID != "" && !req.Key.IsZero() && got != want {
		return fmt.Errorf("key %s has slot %d, ID %q has %d: %w", req.Key, got, req.ID, want, provider.ErrInvalid)
	}
	return nil
}
