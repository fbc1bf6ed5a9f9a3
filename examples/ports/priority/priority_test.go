package priority_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/priority"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// While the first job runs, ann sends three more, then bob one, and then comes an urgent one.
func TestOrderOfJobs(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		draws := orchestrationtest.Replace(e, priority.Draw, nil, orchestrationtest.Delay(10*time.Minute), orchestrationtest.OnQueue("render"))
		var all []orchestrationtest.Handle[orchestration.None]
		for _, job := range []priority.Job{
			{"ann", "a1", false}, {"ann", "a2", false}, {"ann", "a3", false}, {"ann", "a4", false}, {"bob", "b1", false}, {"eve", "e1", true},
		} {
			all = append(all, orchestrationtest.Start(e, priority.Render, job))
			e.Sleep(time.Second)
		}
		for _, h := range all {
			if _, err := h.Wait(e.Context()); err != nil {
				t.Error(err)
			}
		}
		var order []string
		for _, call := range draws.Calls() {
			order = append(order, call.In.Name)
		}
		if got := strings.Join(order, " "); got != "a1 e1 a2 b1 a3 a4" {
			t.Errorf("the order is %s", got)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.QueueLimits = priority.Limits() }))
}
