package listing

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	retryingQueue = "retrying"
	lease         = time.Minute
)

// CheckRetrying checks what lists and counts say of instances with tasks that are tried again. Each handle of the store says the same,
// whichever of them changed something.
func CheckRetrying(t *testing.T, handles ...provider.Provider) {
	t.Helper()
	c := retrying{TB: t}
	for _, p := range handles {
		c.handles = append(c.handles, provider.FullOf(p))
	}
	const many, most = 2_000, 5_000
	healthy := c.start("healthy", 1)
	c.fetch(0, lease)
	c.is("", true)
	one := c.start("one", many)
	c.retry(c.fetch(0, lease))
	c.is("one", true)

	// A node that dies leaves a task whose attempt is still the first.
	c.start("lost", 1)
	lost := c.fetch(0, time.Millisecond)
	c.is("one", true)
	again := c.fetch(time.Minute, lease)
	if len(lost) != 1 || len(again) != 1 || again[0].TaskRef != lost[0].TaskRef || again[0].Attempt != 1 || again[0].Deliveries != 2 {
		t.Fatalf("fetched %+v and then %+v", lost, again)
	}
	c.is("lost one", true)

	// What succeeds in the end is gone.
	c.report(provider.TaskComplete, again)
	c.is("one", true)
	if list := c.tasks(c.handles[0], provider.ListTasksRequest{Retrying: true}); len(list) != many {
		t.Errorf("%d tasks are listed, want %d", len(list), many)
	}
	for _, key := range []provider.UUID{healthy, one} {
		if res, err := c.handles[0].Get(t.Context(), provider.GetRequest{Key: key}); err != nil || res.Instance.Status != provider.StatusRunning {
			t.Errorf("%+v: %v", res.Instance, err)
		}
	}

	// Above 5,000 tasks a count looks at no more of them, and says so.
	c.start("more", most)
	c.retry(c.fetch(0, lease))
	c.is("more one", false)
}

// FillTasks stores many tasks of one queue that no node of a test serves, up to 1,000 of one instance. With retry, one
// attempt of each has failed, and the next begins in an hour.
func FillTasks(tb testing.TB, store provider.Provider, tasks int, retry bool) {
	tb.Helper()
	c := retrying{TB: tb, handles: []*provider.Full{provider.FullOf(store)}}
	for n := 0; n < tasks; n += provider.MaxBatch {
		c.start(fmt.Sprint("filled-", n), min(provider.MaxBatch, tasks-n))
		if retry {
			c.retry(c.fetch(0, time.Minute))
		}
	}
}

type retrying struct {
	testing.TB

	handles []*provider.Full
	calls   int
}

// next returns the handle for the next call that changes something.
func (c *retrying) next() *provider.Full {
	c.calls++
	return c.handles[c.calls%len(c.handles)]
}

// start stores an instance with so many tasks.
func (c *retrying) start(id string, tasks int) provider.UUID {
	c.Helper()
	key, ctx := provider.NewKey(id), c.Context()
	_, err := c.next().Create(ctx, provider.CreateRequest{
		ID: id, Key: key, Commit: provider.NewKey(id), Name: id, Message: provider.NewMessage{Kind: 1},
	})
	if err != nil {
		c.Fatal(err)
	}
	token := provider.NewKey(id)
	res, err := c.next().FetchTurns(ctx, provider.FetchTurnsRequest{
		Owner: "node", Token: token, Lease: lease, Max: 1, Wait: time.Minute, Capabilities: []provider.Capability{{Name: id}},
	})
	if err != nil || len(res.Turns) != 1 {
		c.Fatalf("%d turns: %v", len(res.Turns), err)
	}
	turn := res.Turns[0]
	req := provider.CommitTurnRequest{
		Key: key, Execution: 1, Expected: turn.Instance.Version, Commit: provider.NewKey(id), Lease: token, Status: provider.StatusRunning,
		Consumed: []int64{turn.Messages[0].ID}, Events: [][]byte{[]byte("event")},
	}
	for n := range tasks {
		req.Tasks = append(req.Tasks, provider.NewTask{EventID: int64(n + 1), Queue: retryingQueue, Name: "a"})
	}
	if _, err := c.next().CommitTurn(ctx, req); err != nil {
		c.Fatal(err)
	}
	return key
}

// fetch leases all tasks that can be fetched, and waits for the first one.
func (c *retrying) fetch(wait, length time.Duration) (list []provider.LeasedTask) {
	c.Helper()
	for {
		token := provider.NewKey("")
		res, err := c.next().FetchTasks(c.Context(), provider.FetchTasksRequest{
			Owner: "node", Token: token, Lease: length, Max: provider.MaxBatch, Wait: wait,
			Queues: []provider.QueueFilter{{Queue: retryingQueue, Names: []string{"a"}}},
		})
		if err != nil {
			c.Fatal(err)
		}
		for i := range res.Tasks {
			res.Tasks[i].Payload = token[:] // to report with
		}
		list = append(list, res.Tasks...)
		if len(res.Tasks) < provider.MaxBatch {
			return list
		}
	}
}

// retry reports that an attempt of each task has failed.
func (c *retrying) retry(list []provider.LeasedTask) {
	c.Helper()
	c.report(provider.TaskRetry, list)
}

func (c *retrying) report(outcome provider.TaskOutcome, list []provider.LeasedTask) {
	c.Helper()
	for len(list) > 0 {
		n := min(len(list), provider.MaxBatch)
		var req provider.ReportTasksRequest
		for _, task := range list[:n] {
			report := provider.TaskReport{
				TaskRef: task.TaskRef, Token: provider.TaskToken(provider.UUID(task.Payload), task.TaskRef), Attempt: task.Attempt, Outcome: outcome,
				Delay: time.Hour,
			}
			if outcome == provider.TaskComplete {
				report.Delay, report.Message = 0, provider.NewMessage{Kind: 1, Execution: task.Execution, EventID: task.EventID}
			}
			req.Items = append(req.Items, report)
		}
		res, err := c.next().ReportTasks(c.Context(), req)
		if err != nil {
			c.Fatal(err)
		}
		for _, item := range res.Items {
			if item.Err != nil {
				c.Fatal(item.Err)
			}
		}
		list = list[n:]
	}
}

// is checks which instances are listed, each once, and counted. exact is false if there are more tasks than a count looks at.
func (c *retrying) is(want string, exact bool) {
	c.Helper()
	for n, p := range c.handles {
		got, rows := "", int64(0)
		req := provider.ListRequest{Filter: provider.Filter{Retrying: true}}
		for more := true; more; more = req.Cursor != "" {
			res, err := p.List(c.Context(), req)
			if err != nil {
				c.Fatal(err)
			}
			for _, i := range res.Instances {
				got, rows = fmt.Sprint(got, " ", i.ID), rows+1
			}
			req.Cursor = res.Cursor
		}
		if want != "" && got != " "+want || want == "" && got != "" {
			c.Errorf("handle %d lists %q, want %q", n, got, want)
		}
		for _, most := range []int64{0, 1_000} {
			res, err := p.Count(c.Context(), provider.CountRequest{Filter: req.Filter, Max: most})
			if err != nil || res.Exact != exact || exact && res.Count != rows || res.Count > rows {
				c.Errorf("handle %d counts %+v up to %d: %v; want %d, exactly: %t", n, res, most, err, rows, exact)
			}
		}
	}
}

func (c *retrying) tasks(p *provider.Full, req provider.ListTasksRequest) (list []provider.ListedTask) {
	c.Helper()
	for {
		res, err := p.ListTasks(c.Context(), req)
		if err != nil {
			c.Fatal(err)
		}
		list = append(list, res.Tasks...)
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return list
		}
	}
}

// CheckRetryingReads checks that what is tried again is found without reading the tasks that are not. read returns how many rows were read so
// far.
func CheckRetryingReads(t *testing.T, p provider.Provider, read func() int64) {
	t.Helper()
	const many, few, most = 2_000, 3, 100
	c := retrying{TB: t, handles: []*provider.Full{provider.FullOf(p)}}
	c.start("one", few)
	c.retry(c.fetch(0, lease))
	c.start("healthy", many)
	filter := provider.Filter{Retrying: true}
	for name, call := range map[string]func() (int, error){
		"List": func() (int, error) {
			res, err := c.handles[0].List(t.Context(), provider.ListRequest{Filter: filter})
			return few * len(res.Instances), err
		},
		"Count": func() (int, error) {
			res, err := c.handles[0].Count(t.Context(), provider.CountRequest{Filter: filter, Max: 10})
			return few * int(res.Count), err
		},
		"ListTasks": func() (int, error) {
			res, err := c.handles[0].ListTasks(t.Context(), provider.ListTasksRequest{Retrying: true})
			return len(res.Tasks), err
		},
	} {
		before := read()
		n, err := call()
		if rows := read() - before; err != nil || n != few || rows > most {
			t.Errorf("%s found %d of %d tasks and read %d rows, want at most %d: %v", name, n, few, rows, most, err)
		}
	}
}
