package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenOnce() []brokenRule {
	return []brokenRule{
		{name: "an act under a request ID is done again", caught: "steer/once", breaks: steers(forgetsAct)},
		{name: "an instance remembers its last act only", caught: "steer/once-remembered", breaks: remembersLast},
		{name: "a refused act is remembered", caught: "steer/once-refused", breaks: remembersRefused},
	}
}

func forgetsAct(req *provider.SteerRequest) { req.RequestID = "" }

func remembersLast(m *mutant) {
	var last sync.Map
	m.steer.before(func(req *provider.SteerRequest) {
		if before, _ := last.Swap(req.Key, req.RequestID); before != req.RequestID {
			req.RequestID = ""
		}
	})
}

func remembersRefused(m *mutant) {
	var refused sync.Map
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		if _, known := refused.Load(req.RequestID); known {
			return provider.SteerResult{Instance: m.stored(ctx, req.Key)}, nil
		}
		res, err := steer(ctx, req)
		if err != nil && req.RequestID != "" {
			refused.Store(req.RequestID, true)
		}
		return res, err
	})
}
