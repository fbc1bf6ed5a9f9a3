package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// Vacuum gives the places of removed rows to new ones, so that the order of places is not that of insertion. Two kinds of tasks and
// two kinds of fetches read equal ranks.
func TestEqualRanksWhereRowsMakeRoom(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	task := func(event int64, fairness string) provider.NewTask {
		return provider.NewTask{EventID: event, Queue: "q", Name: "act", FairnessKey: fairness, Payload: []byte(fairness)}
	}
	exec(t, p, `ALTER TABLE perdure.task SET (autovacuum_enabled = false)`)
	take := func(most, limit int) (names []string) {
		req := tasksRequest()
		req.Max, req.Queues[0].MaxLeased = most, limit
		res, err := p.FetchTasks(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Tasks {
			names = append(names, string(res.Tasks[i].Payload))
			ref := res.Tasks[i].TaskRef
			if _, err := p.ReportTasks(t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{{
				TaskRef: ref, Token: provider.TaskToken(req.Token, ref), Attempt: 1, Outcome: provider.TaskComplete, Message: text("done"),
			}}}); err != nil {
				t.Fatal(err)
			}
		}
		return names
	}
	const gone = 8
	for range gone {
		commitTasks(t, p, task(1, ""))
	}
	commitTasks(t, p, task(1, "first"), task(2, "first"))
	take(gone+1, 0) // all but the second one, which has the rank of all that follow
	want := []string{"first"}
	for n := range 2 * gone {
		if n%4 == 0 { // frees the places in front of the rows that are there
			exec(t, p, `VACUUM perdure.task`)
		}
		name := fmt.Sprint("n", n)
		commitTasks(t, p, task(int64(100-n), name))
		want = append(want, name)
	}
	var got []string
	for limit := 0; len(got) < len(want); limit = 100 - limit {
		names := take(2, limit)
		if len(names) == 0 {
			break
		}
		got = append(got, names...)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("fetched %v, want %v", got, want)
	}
}
