package validations

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

func brokenSend() []brokenRule {
	return []brokenRule{
		{
			name: "a large batch of messages comes last first", caught: "send/first-in-first-out",
			breaks: func(m *mutant) {
				m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
					for _, turn := range res.Turns {
						if len(turn.Messages) >= 100 {
							slices.Reverse(turn.Messages)
						}
					}
				})
			},
		},
	}
}
