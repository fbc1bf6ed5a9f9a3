package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// Clients and nodes give each instance a key in the slot of its ID, and children without an ID of their own one in the slot of their
// parent. A store over several databases refuses other keys.
func TestScenariosFitDividedStores(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	var checked, children atomic.Int64
	t.Cleanup(func() { // when all scenarios have ended
		if checked.Load() < 50 || children.Load() < 5 {
			t.Errorf("%d keys were checked, %d of them in the slot of a parent", checked.Load(), children.Load())
		}
	})
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			divided := func(m *mutant) { dividedBySlots(m, &checked, &children) }
			for _, f := range caught(t, s, modes()[0], divided) {
				t.Error(f)
			}
		})
	}
}

func dividedBySlots(m *mutant, checked, children *atomic.Int64) {
	fits := func(req *provider.CreateRequest) error {
		checked.Add(1)
		if got, want := provider.SlotOf(req.Key), provider.SlotOfID(req.ID); got != want {
			return fmt.Errorf("key %s has slot %d, ID %q has %d: %w", req.Key, got, req.ID, want, provider.ErrInvalid)
		}
		parent := req.Parent.Key
		if !strings.HasPrefix(req.ID, parent.String()+"/") {
			return nil
		}
		children.Add(1)
		if provider.SlotOf(req.Key) != provider.SlotOf(parent) {
			return fmt.Errorf("key %s is not in the slot of its parent %s: %w", req.Key, parent, provider.ErrInvalid)
		}
		return nil
	}
	m.create = func(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, err error) {
		if err := fits(&req); err != nil {
			return res, err
		}
		return m.Full.Create(ctx, req)
	}
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
		for n := range req.Starts {
			if err := fits(&req.Starts[n].Create); err != nil {
				return res, err
			}
		}
		return m.Full.CommitTurn(ctx, req)
	}
}
