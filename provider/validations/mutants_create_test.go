package validations

import "github.com/perdure/perdure/provider"

func brokenCreate() []brokenRule {
	return []brokenRule{
		{
			name: "a repeated create is not known by its request", caught: "create/repeated-request",
			breaks: func(m *mutant) {
				m.create.before(func(req *provider.CreateRequest) { req.RequestID = "" })
			},
		},
	}
}
