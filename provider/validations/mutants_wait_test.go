package validations

import "github.com/perdure/perdure/provider"

func brokenWait() []brokenRule {
	return []brokenRule{
		{
			name: "a fetch does not block for a short wait", caught: "wait/passes",
			breaks: func(m *mutant) {
				m.turns.before(func(req *provider.FetchTurnsRequest) {
					if req.Wait < long {
						req.Wait = 0
					}
				})
			},
		},
	}
}
