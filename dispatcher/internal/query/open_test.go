package query

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Clients of releases before ask for forks into the corner of perdure itself. The node refuses them.
func TestHazard67_NodesForkNothingIntoTheSystem(t *testing.T) {
	t.Parallel()
	for _, asked := range []history.Opening{
		{Execution: 1, Event: 1, ForkID: "perdure/retention"},
		{Execution: 1, Event: 1, ForkID: "mine", RequestID: "perdure/schedule/x/2026-01-01T00:00:00Z"},
	} {
		o := &opening{request: &asked, inst: &provider.Instance{ID: "a", Execution: 1, HistoryLength: 9}}
		if why := o.precheck(t.Context()); why.Outcome != history.AnswerBadPoint || !strings.Contains(why.Message, "belong to perdure itself") {
			t.Errorf("%+v: %+v, want it refused", asked, why)
		}
	}
}
