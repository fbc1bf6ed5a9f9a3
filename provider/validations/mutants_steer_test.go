package validations

import "github.com/perdure/perdure/provider"

func brokenSteer() []brokenRule {
	return []brokenRule{
		{
			name: "a repeated steer is done again", caught: "steer/same-commit-again",
			breaks: func(m *mutant) {
				m.steer.before(func(req *provider.SteerRequest) { req.Commit = unique() })
			},
		},
	}
}
