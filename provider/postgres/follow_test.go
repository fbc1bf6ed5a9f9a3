package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// A call that follows an instance sees what another process stores, also what leaves the version as it is.
func TestFollowersSeeOtherProcesses(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	p, other := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
	in := instanceWith(t, p, "one", provider.NewTask{})
	var task provider.LeasedTask
	var token provider.UUID
	for name, c := range []struct {
		change func()
		req    provider.GetRequest
	}{
		{func() {
			req := tasksRequest()
			res, err := other.FetchTasks(t.Context(), req)
			if err != nil || len(res.Tasks) != 1 {
				t.Errorf("fetched %d tasks, %v", len(res.Tasks), err)
				return
			}
			task, token = res.Tasks[0], provider.TaskToken(req.Token, res.Tasks[0].TaskRef)
		}, provider.GetRequest{WithMark: true, WithTasks: true}},
		{func() {
			_, err := other.RenewTasks(t.Context(), provider.RenewTasksRequest{
				Lease: lease, Items: []provider.TaskRenewal{{TaskRef: task.TaskRef, Token: token, Details: []byte("d")}},
			})
			if err != nil {
				t.Error(err)
			}
		}, provider.GetRequest{WithMark: true, WithTasks: true}},
		{func() {
			res, err := other.Get(t.Context(), provider.GetRequest{Key: in.Key})
			if err != nil {
				t.Error(err)
			}
			_, err = other.CommitTurn(t.Context(), provider.CommitTurnRequest{
				Key: in.Key, Execution: 1, Expected: res.Instance.Version, Length: res.Instance.HistoryLength, Commit: unique(),
				Status: provider.StatusRunning, Values: []provider.KeyValue{{Key: "v", Value: []byte{}}},
			})
			if err != nil {
				t.Error(err)
			}
		}, provider.GetRequest{WaitValue: true, Value: "v"}},
	} {
		req := c.req
		req.Key = in.Key
		before, err := p.Get(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if req.WithMark {
			req.Mark = before.Mark
		}
		req.Wait = 20 * time.Second
		changed := make(chan time.Time, 1)
		go func() {
			<-time.After(600 * time.Millisecond) // the first poll is over
			c.change()
			changed <- time.Now()
		}()
		after, err := p.Get(t.Context(), req)
		if err != nil || !req.Ends(&after) {
			t.Fatalf("change %d: %+v, %v", name, after, err)
		}
		if late := time.Since(<-changed); late > 5*time.Second {
			t.Errorf("change %d is seen after %v", name, late)
		}
	}
}
