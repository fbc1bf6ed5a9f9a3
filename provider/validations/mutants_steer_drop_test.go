package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

func brokenDrops() []brokenRule {
	return []brokenRule{
		{name: "a drop gives no reason", caught: "steer/drop", breaks: steers(dropsSilently)},
		{name: "a drop of nothing succeeds", caught: "steer/drop-unknown", breaks: dropsNothing},
		{name: "a drop ends the wait of a reset", caught: "steer/drop-after-reset", breaks: dropsReady},
		{name: "a drop unblocks", caught: "steer/drop-blocked", breaks: dropUnblocks},
	}
}

func dropsSilently(req *provider.SteerRequest) {
	if req.Action == provider.SteerDrop {
		req.Reason = "dropped"
	}
}

func dropsNothing(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, err *error) {
		if req.Action == provider.SteerDrop && errors.Is(*err, provider.ErrNotFound) {
			*err = nil
		}
	})
}

// dropsReady hides what is ready without a message.
func dropsReady(m *mutant) {
	var dropped bool
	m.steer.before(func(req *provider.SteerRequest) { dropped = dropped || req.Action == provider.SteerDrop })
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		if dropped && len(res.Turns) == 1 && len(res.Turns[0].Messages) == 0 {
			res.Turns = nil
		}
	})
}

func dropUnblocks(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, err *error) {
		if req.Action == provider.SteerDrop && *err == nil && res.Instance.Blocked != nil {
			ctx := context.Background()
			*res, *err = m.Provider.Steer(ctx, provider.SteerRequest{Key: req.Key, Action: provider.SteerUnblock, Commit: unique()})
		}
	})
}
