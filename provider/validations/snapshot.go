package validations

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// inspectOneState replaces the pair of tasks of an instance in each commit while another goroutine inspects. Every page has one
// pair.
func inspectOneState(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	var over atomic.Bool
	t.parallel(2, func(n int) {
		if n == 0 {
			defer over.Store(true)
			for first := int64(3); first < 103; first += 2 {
				req := next(i)
				req.CancelTasks = []provider.CancelTask{{EventID: first - 2}, {EventID: first - 1}}
				req.Tasks = []provider.NewTask{newTask(first), newTask(first + 1)}
				t.commit(req)
				i.Version = req.Commit
				t.pass(blink)
			}
			return
		}
		for last := false; !last; {
			last = over.Load()
			list := inspect(t, provider.InspectTasks, of(i.Key)).Tasks
			t.mustf(len(list) == 2 && list[1].EventID == list[0].EventID+1 && list[0].EventID%2 == 1, "got %+v, want the two tasks of one commit", list)
			t.pass(blink)
		}
	})
}

func inspectBare(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
	})
	list := inspect(t, provider.InspectInstances).Instances
	t.checkf(len(list) == 1 && list[0].Key == i.Key && list[0].Attributes == nil, "instances %s, want one without attributes", fmt.Sprint(list))
}
