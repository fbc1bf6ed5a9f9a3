package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
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

// While nothing changes, a poll reads sums and no stamps. Each kind of change of what is followed makes it read stamps, and so does another list.
func TestHazard83_UnchangedStampsAreNotRead(t *testing.T) {
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	p, other := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
	followed, quiet := instanceWith(t, p, "followed", provider.NewTask{}), instanceWith(t, p, "quiet", provider.NewTask{})
	s := storage{p.db, &p.cache.clock, &stampSums{}}
	list := []relational.Followed{{Key: followed.Key}, {Key: quiet.Key}}
	before, err := s.Stamps(t.Context(), list)
	if err != nil || len(before) != 2 {
		t.Fatalf("first stamps: %v, %v", before, err)
	}
	unchanged := func(when string) {
		t.Helper()
		if stamps, err := s.Stamps(t.Context(), []relational.Followed{list[1], list[0]}); err != nil || stamps != nil {
			t.Errorf("%s stamps are read: %v, %v", when, stamps, err)
		}
	}
	unchanged("while nothing changes")
	var task provider.LeasedTask
	var token provider.UUID
	fetch := func() {
		t.Helper()
		req := tasksRequest()
		res, err := other.FetchTasks(t.Context(), req)
		if err != nil || len(res.Tasks) == 0 {
			t.Fatalf("fetched %d tasks, %v", len(res.Tasks), err)
		}
		for _, one := range res.Tasks {
			if one.Key == followed.Key {
				task, token = one, provider.TaskToken(req.Token, one.TaskRef)
			}
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a claimed task", fetch},
		{"a renewal", func() {
			_, err := other.RenewTasks(t.Context(), provider.RenewTasksRequest{
				Lease: lease, Items: []provider.TaskRenewal{{TaskRef: task.TaskRef, Token: token, Details: []byte("d")}},
			})
			ok(err)
		}},
		{"a message", func() {
			_, err := other.Send(t.Context(), provider.SendRequest{Key: followed.Key, Message: provider.NewMessage{Kind: 1, Payload: []byte("m")}})
			ok(err)
		}},
		{"a suspension", func() {
			_, err := other.Steer(t.Context(), provider.SteerRequest{Key: followed.Key, Commit: unique(), Action: provider.SteerSuspend})
			ok(err)
		}},
		{"the end", func() {
			_, err := other.Steer(t.Context(), provider.SteerRequest{Key: followed.Key, Commit: unique(), Action: provider.SteerTerminate})
			ok(err)
		}},
		{"the deletion", func() {
			_, err := other.Delete(t.Context(), provider.DeleteRequest{Key: followed.Key})
			ok(err)
		}},
	} {
		change.make()
		stamps, err := s.Stamps(t.Context(), list)
		if err != nil || len(stamps) != 2 || stamps[0] == before[0] {
			t.Errorf("after %s: stamps %v, %v; before %v", change.name, stamps, err, before)
			continue
		}
		before = stamps
		unchanged("after " + change.name)
	}
	if stamps, err := s.Stamps(t.Context(), list[1:]); err != nil || len(stamps) != 1 || stamps[0] != before[1] {
		t.Errorf("stamps of another list: %v, %v", stamps, err)
	}
	values := []relational.Followed{list[1], {Key: quiet.Key, Name: "v"}}
	for range 2 {
		if stamps, err := s.Stamps(t.Context(), values); err != nil || len(stamps) != 2 {
			t.Errorf("stamps with key-values: %v, %v", stamps, err)
		}
	}
}
