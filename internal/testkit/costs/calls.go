package costs

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
)

const (
	// stores is on how many stores each call is measured, rounds is how often on each, and repeats is how many calls a measurement has.
	// Other work of the process, or a store that is about something else, can only add to a measurement, so the lowest counts.
	stores, rounds, repeats = 3, 4, 40
	// loose is by how much a figure of a call may grow. Pools and maps of the process make it vary by less.
	loose = 0.03
)

// Calls returns what single calls of a store allocate, in allocations and bytes of the whole process: a create, the fetch of its first
// turn, the commit of that with a task, the fetch of the task, the report of its result, a send, and a step, which completes a task from
// memory and hands off the next one. The calls run one at a time. Under the race detector, which allocates, it skips the test.
func Calls(t testing.TB, open func() provider.Provider) (figures []Figure) {
	t.Helper()
	if racedetector.On {
		t.Skip("the race detector allocates")
	}
	c := &caller{t: t, count: make(map[string]float64), bytes: make(map[string]float64)}
	for range stores {
		c.p = open()
		c.warming = true
		c.round("warm")
		c.warming = false
		for n := range rounds {
			c.round(fmt.Sprintf("calls-%d", n))
		}
	}
	for _, name := range c.names {
		figures = append(figures,
			Figure{Name: "allocations of a " + name, Value: c.count[name], Slack: loose},
			Figure{Name: "bytes of a " + name, Value: c.bytes[name], Slack: loose})
	}
	return figures
}

// A caller calls a store and keeps the lowest figures of each call.
type caller struct {
	t            testing.TB
	p            provider.Provider
	names        []string
	count, bytes map[string]float64
	warming      bool // the calls are the first ones of a store, which cost less or more than those that follow: they do not count
}

// round measures each call on instances of its own.
func (c *caller) round(name string) {
	ctx, payload := c.t.Context(), make([]byte, 100)
	keys, turns, tasks := make([]provider.UUID, repeats), make([]provider.Turn, repeats), make([]provider.LeasedTask, repeats)
	tokens, versions := make([]provider.UUID, repeats), make([]provider.UUID, repeats)
	c.measure("create", func(i int) (err error) {
		id := fmt.Sprintf("%s-%d", name, i)
		keys[i] = provider.NewKey(id)
		_, err = c.p.Create(ctx, provider.CreateRequest{
			ID: id, Key: keys[i], Commit: unique(), Name: "costs", Message: provider.NewMessage{Payload: payload},
		})
		return err
	})
	c.measure("fetch of a turn", func(i int) error {
		tokens[i] = unique()
		res, err := c.p.FetchTurns(ctx, provider.FetchTurnsRequest{
			Owner: "costs", Token: tokens[i], Lease: time.Hour, Capabilities: []provider.Capability{{Name: "costs"}}, Max: 1,
		})
		if err == nil && len(res.Turns) != 1 {
			err = fmt.Errorf("it returned %d turns", len(res.Turns))
		}
		if err == nil {
			turns[i] = res.Turns[0]
		}
		return err
	})
	c.measure("commit of a turn", func(i int) error {
		in := &turns[i].Instance
		versions[i] = unique()
		_, err := c.p.CommitTurn(ctx, provider.CommitTurnRequest{
			Key: in.Key, Execution: in.Execution, Expected: in.Version, Length: in.HistoryLength, Commit: versions[i], Lease: tokens[i],
			Status: provider.StatusRunning, Consumed: []int64{turns[i].Messages[0].ID}, Events: [][]byte{payload, payload},
			Tasks: []provider.NewTask{{EventID: 2, Queue: "costs", Name: "work", Payload: payload}},
		})
		return err
	})
	c.steps(keys, versions)
	c.measure("fetch of a task", func(i int) error {
		tokens[i] = unique()
		res, err := c.p.FetchTasks(ctx, provider.FetchTasksRequest{
			Owner: "costs", Token: tokens[i], Lease: time.Hour, Queues: []provider.QueueFilter{{Queue: "costs", Names: []string{"work"}}}, Max: 1,
		})
		if err == nil && len(res.Tasks) != 1 {
			err = fmt.Errorf("it returned %d tasks", len(res.Tasks))
		}
		if err == nil {
			tasks[i] = res.Tasks[0]
		}
		return err
	})
	c.measure("report of a result", func(i int) error {
		ref := tasks[i].TaskRef
		res, err := c.p.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{
			TaskRef: ref, Token: provider.TaskToken(tokens[i], ref), Attempt: 1, Outcome: provider.TaskComplete,
			Message: provider.NewMessage{Execution: ref.Execution, EventID: ref.EventID, Payload: payload},
		}}})
		if err == nil {
			err = res.Items[0].Err
		}
		return err
	})
	c.measure("send", func(i int) error {
		_, err := c.p.Send(ctx, provider.SendRequest{Key: keys[i], Message: provider.NewMessage{Payload: payload}})
		return err
	})
	c.end(ctx, keys)
}

// steps measures a step on each instance, after one that hands off the task that it completes. No message waits.
func (c *caller) steps(keys, versions []provider.UUID) {
	payload, tokens := make([]byte, 100), make([]provider.UUID, repeats)
	step := func(i, n int) error {
		req := provider.CommitTurnRequest{
			Key: keys[i], Execution: 1, Expected: versions[i], Length: int64(2 * n), Commit: unique(), Status: provider.StatusRunning,
			Events: [][]byte{payload, payload},
		}
		if n > 1 {
			req.Completes = []provider.TaskCompletion{{EventID: int64(2 * n), Token: tokens[i]}}
		}
		tokens[i], versions[i] = unique(), req.Commit
		req.Tasks = []provider.NewTask{{
			EventID: int64(2*n + 2), Queue: "costs", Name: "work", Payload: payload,
			Lease: &provider.TaskLease{Token: tokens[i], Owner: "costs", Duration: time.Hour},
		}}
		_, err := c.p.CommitTurn(c.t.Context(), req)
		return err
	}
	for i := range repeats {
		if err := step(i, 1); err != nil {
			c.t.Fatal(err)
		}
	}
	c.measure("step", func(i int) error { return step(i, 2) })
}

// end ends the instances, so that the next round does not fetch them.
func (c *caller) end(ctx context.Context, keys []provider.UUID) {
	for _, key := range keys {
		_, err := c.p.Steer(ctx, provider.SteerRequest{Key: key, Action: provider.SteerTerminate, Commit: unique(), Result: []byte("end")})
		if err != nil {
			c.t.Fatalf("ending an instance: %v", err)
		}
	}
}

// measure runs a call several times.
func (c *caller) measure(name string, call func(i int) error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools, which the calls then fill again
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range repeats {
		if err := call(i); err != nil {
			c.t.Fatalf("%s %d: %v", name, i, err)
		}
	}
	runtime.ReadMemStats(&after)
	if c.warming {
		return
	}
	count, bytes := float64(after.Mallocs-before.Mallocs)/repeats, float64(after.TotalAlloc-before.TotalAlloc)/repeats
	if _, known := c.count[name]; !known {
		c.names, c.count[name], c.bytes[name] = append(c.names, name), count, bytes
	}
	c.count[name], c.bytes[name] = min(c.count[name], count), min(c.bytes[name], bytes)
}

func unique() provider.UUID { return provider.UUID(uuid.New()) }
