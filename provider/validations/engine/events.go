package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func eventScenarios() []scenario {
	return []scenario{
		{name: "events", run: eventsInOrder, carries: []string{"Send", "FetchTurns", "CommitTurn.Consumed"}},
		{name: "buffered-events", run: bufferedEvents, carries: []string{"Send", "CommitTurn.Next", "CommitTurn.Consumed"}},
		{name: "flood", run: flood, two: true, carries: []string{"Send", "FetchTurns.MaxMessages", "CommitTurn.Consumed"}},
	}
}

// eventsInOrder come before anybody listens, while the code waits for something else, and while it
// listens, in the order in which they were sent. A repeated request is one event.
func eventsInOrder(t *trial) {
	const each = 5
	working, letGo := newGate(), newGate()
	reg := runtime.NewRegistry()
	addActivity(t, reg, "work", func(ctx context.Context, _ none) (none, error) {
		working.open()
		return none{}, letGo.wait(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (int, error) {
		if _, err := orchestration.CallActivityNamed[none](ctx, "work", none{}); err != nil {
			return 0, err
		}
		for i := range 2 * each {
			if n, err := orchestration.Events[int](ctx, "e").Receive(ctx); err != nil || n != i {
				return 0, errors.Join(err, fmt.Errorf("event %d is %d", i, n))
			}
		}
		if n, more, err := orchestration.Events[int](ctx, "e").TryReceive(); more || err != nil {
			return 0, errors.Join(err, fmt.Errorf("there is another event, %d", n))
		}
		return 2 * each, nil
	})
	t.node(reg)
	h := start[int](t, "main", none{})
	for i := range each {
		if i == 2 {
			t.await(working)
		}
		for range 2 {
			t.raise(h.ID(), "e", i, client.WithRequestID(fmt.Sprint("event ", i)))
		}
	}
	letGo.open()
	for i := range each {
		t.raise(h.ID(), "e", each+i)
	}
	completes(t, h, 2*each)
}

// bufferedEvents are not read by the execution that they reach, but by those that it continues as.
func bufferedEvents(t *trial) {
	const many = 6
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "main", func(ctx *octx, read []int) ([]int, error) {
		n, err := orchestration.Events[int](ctx, "e").Receive(ctx)
		if err != nil {
			return nil, err
		}
		if read = append(read, n); len(read) < many {
			return nil, orchestration.ContinueAsNew(ctx, read)
		}
		return read, nil
	})
	h := start[[]int](t, "main", []int{})
	for i := range many / 2 {
		t.raise(h.ID(), "e", i)
	}
	t.node(reg)
	for i := many / 2; i < many; i++ {
		t.raise(h.ID(), "e", i)
	}
	if got := fmt.Sprint(output(t, h)); got != "[0 1 2 3 4 5]" {
		t.errorf("%d executions received %s", many, got)
	}
	t.checkf(describe(t, h).Execution == many, "ended in execution %d, want %d", describe(t, h).Execution, many)
}

// flood comes from several senders at once: nothing is lost, nothing is doubled, and each sender's events keep their order.
func flood(t *trial) {
	const senders, each = 4, 25
	type note struct{ Sender, Number int }
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (none, error) {
		var next [senders]int
		for range senders * each {
			n, err := orchestration.Events[note](ctx, "e").Receive(ctx)
			if err != nil {
				return none{}, err
			}
			if n.Number != next[n.Sender] {
				return none{}, fmt.Errorf("sender %d: event %d came, want %d", n.Sender, n.Number, next[n.Sender])
			}
			next[n.Sender]++
		}
		return none{}, nil
	})
	t.node(reg)
	h := start[none](t, "main", none{})
	clients := []*client.Client{t.client, t.newClient(t.other)}
	t.parallel(senders, senders, func(s int) {
		for i := range each {
			t.ok(clients[s%2].Raise(t.ctx, h.ID(), "e", note{s, i}))
		}
	})
	completes(t, h, none{})
}
