package validations

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

func brokenHandles() []brokenRule {
	return []brokenRule{
		{name: "an instance of an unknown name loses it", caught: "handles/new-name", breaks: func(m *mutant) {
			m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
				if i := &res.Instance; strings.HasPrefix(i.Name, "new-") && i.EngineLevel > 0 {
					i.Name = ""
				}
			})
		}},
		{name: "leases in an unknown queue are not counted", caught: "handles/new-queue", breaks: func(m *mutant) {
			m.tasks.before(func(req *provider.FetchTasksRequest) {
				if len(req.Queues) == 1 && strings.HasPrefix(req.Queues[0].Queue, "new-") {
					req.Queues = []provider.QueueFilter{{Queue: req.Queues[0].Queue, Names: req.Queues[0].Names}}
				}
			})
		}},
		{name: "a late task of an unknown queue has no name", caught: "handles/new-queue", breaks: func(m *mutant) {
			m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
				for n := range res.Tasks {
					if t := &res.Tasks[n]; t.PastDeadline && strings.HasPrefix(t.Queue, "new-") {
						t.Queue, t.Name = "", ""
					}
				}
			})
		}},
	}
}
