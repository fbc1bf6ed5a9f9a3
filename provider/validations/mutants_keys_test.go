package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenKeys() []brokenRule {
	return []brokenRule{
		{name: "keys of version 7 are refused without a reason", caught: "create/keys-of-each-version", breaks: refusesOldKeys(provider.ErrNotFound, false)},
		{name: "a refused key leaves its instance", caught: "create/keys-of-each-version", breaks: refusesOldKeys(provider.ErrInvalid, true)},
		{name: "keys are moved to the slot of their ID", caught: "create/keys-of-each-version", wide: true, breaks: movesKeys},
		{name: "a child with a key of version 7 is skipped", caught: "create/keys-of-children", breaks: commits(skipsOldChildren)},
	}
}

func refusesOldKeys(reason error, stores bool) func(*mutant) {
	return func(m *mutant) {
		m.create.around(func(ctx context.Context, req provider.CreateRequest, inner createMethod) (res provider.CreateResult, err error) {
			if req.Key[6]>>4 != 7 {
				return inner(ctx, req)
			}
			if stores {
				_, _ = inner(ctx, req)
			}
			return res, reason
		})
	}
}

func movesKeys(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) {
		if provider.SlotOf(req.Key) != provider.SlotOfID(req.ID) {
			req.Key = provider.NewKey(req.ID)
		}
	})
}

func skipsOldChildren(req *provider.CommitTurnRequest) {
	var kept []provider.Start
	for _, start := range req.Starts {
		if start.Create.Key[6]>>4 != 7 {
			kept = append(kept, start)
		}
	}
	req.Starts = kept
}
