package validations

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// brokenNames lists mutants that use the ID of a request that names a key, too.
func brokenNames() []brokenRule {
	// latest makes a request with an ID mean the current instance under it.
	latest := func(id string, key *provider.UUID) {
		if id != "" {
			*key = provider.UUID{}
		}
	}
	return []brokenRule{
		{name: "Get uses the ID, whatever the key", caught: "read/get-by-key-or-id", breaks: func(m *mutant) {
			m.get.before(func(req *provider.GetRequest) { latest(req.ID, &req.Key) })
		}},
		{name: "Steer uses the ID, whatever the key", caught: "steer/by-key-or-id", breaks: func(m *mutant) {
			m.steer.before(func(req *provider.SteerRequest) { latest(req.ID, &req.Key) })
		}},
		{name: "Send uses the ID, whatever the key", caught: "send/by-key-or-id", breaks: func(m *mutant) {
			m.send.before(func(req *provider.SendRequest) { latest(req.ID, &req.Key) })
		}},
		{name: "Ask uses the ID, whatever the key", caught: "ask/by-key-or-id", breaks: func(m *mutant) {
			m.ask.before(func(req *provider.AskRequest) { latest(req.ID, &req.Key) })
		}},
		{name: "Delete uses the ID, whatever the key", caught: "clean/delete-by-key-or-id", breaks: func(m *mutant) {
			m.remove.before(func(req *provider.DeleteRequest) { latest(req.ID, &req.Key) })
		}},
		{name: "a message of a turn uses the ID, whatever the key", caught: "deliver/by-key-or-id", breaks: func(m *mutant) {
			m.commit.before(func(req *provider.CommitTurnRequest) {
				req.Sends = slices.Clone(req.Sends)
				for n := range req.Sends {
					latest(req.Sends[n].ID, &req.Sends[n].Key)
				}
			})
		}},
	}
}
