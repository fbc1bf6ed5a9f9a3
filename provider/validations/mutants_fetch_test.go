package validations

import "github.com/perdure/perdure/provider"

func brokenFetch() []brokenRule {
	return []brokenRule{
		{
			name: "deliveries are not counted beyond two", caught: "fetch-turns/deliveries",
			breaks: func(m *mutant) {
				m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
					for i := range res.Turns {
						res.Turns[i].Instance.Deliveries = min(res.Turns[i].Instance.Deliveries, 2)
					}
				})
			},
		},
	}
}
