package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenRelease() []brokenRule {
	return []brokenRule{
		{
			name: "a release by a wrong token is said to be fine", caught: "release-turns/wrong-token",
			breaks: func(m *mutant) {
				m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
					for n, item := range req.Items {
						if !m.stored(context.Background(), item.Key).Key.IsZero() {
							res.Errs[n] = nil
						}
					}
				})
			},
		},
	}
}
