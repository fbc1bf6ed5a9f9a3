package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
)

// testClients is the clients of the kill test, in the test's own process. Each start and event has a request ID, and some
// calls are made twice.
type testClients struct {
	client  *client.Client
	random  *rand.Rand
	courses []*course
	brief   bool // plans have few steps, so that there can be many
}

// The seeds, modulo 10, of plans that do not complete.
const (
	cancelled  = 4
	terminated = 7
	broken     = 9
)

// haste is the number of rounds in which the clients finish their work.
const haste = 6

// enlist adds n plans that are not started yet.
func (c *testClients) enlist(n int) {
	for range n {
		c.courses = append(c.courses, c.newCourse(uint64(len(c.courses))+1))
	}
}

func (c *testClients) newCourse(seed uint64) *course {
	p := churn.Plan{Seed: seed, Rounds: 1 + int(seed%3), Steps: 4 + int(seed%8), Width: int(seed % 5)}
	if seed%4 == 1 {
		p.Haul = 8
	}
	if c.brief {
		p.Steps, p.Width = 1+int(seed%2), int(seed%3)
		if seed%8 != 0 {
			p.Rounds = 1
		}
		if seed%16 != 1 {
			p.Haul = 0
		}
	}
	o := &course{client: c.client, plan: p}
	o.todo = append(o.todo, o.start)
	for round := range p.Rounds {
		o.todo = append(o.todo, o.word(round))
	}
	for n := range int(seed % 3) {
		o.todo = slices.Insert(o.todo, 1+c.random.IntN(len(o.todo)), o.bonus(n, c.random.IntN(2) == 0), o.ask)
	}
	switch seed % 10 {
	case broken:
		o.plan.End = churn.EndBroken
	case cancelled:
		o.plan.End, o.stop = churn.EndWaits, o.cancel
	case terminated:
		o.plan.End, o.stop = churn.EndWaits, o.terminate
	}
	if o.stop != nil {
		o.todo = slices.Insert(o.todo, 1+c.random.IntN(len(o.todo)), o.stop)
	}
	return o
}

// act does a part of the work, mixed over all plans.
func (c *testClients) act(ctx context.Context) error {
	total := 0
	for _, o := range c.courses {
		total += len(o.todo)
	}
	return c.do(ctx, (total+haste-1)/haste)
}

// finish does the remaining work.
func (c *testClients) finish(ctx context.Context) error {
	for {
		open := c.open()
		if len(open) == 0 {
			return nil
		}
		if err := c.do(ctx, len(open)); err != nil {
			return err
		}
	}
}

func (c *testClients) open() []*course {
	return slices.DeleteFunc(slices.Clone(c.courses), func(o *course) bool { return len(o.todo) == 0 })
}

// callers is the number of concurrent callers.
const callers = 4

// do does n steps.
func (c *testClients) do(ctx context.Context, n int) error {
	open := c.open()
	faults := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		mine := caller{random: rand.New(rand.NewPCG(c.random.Uint64(), 0))}
		for j := i; j < len(open); j += callers {
			mine.open = append(mine.open, open[j])
		}
		all.Go(func() { faults[i] = mine.do(ctx, (n+callers-1)/callers) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// caller does the steps of some of the plans.
type caller struct {
	random *rand.Rand
	open   []*course
}

func (c *caller) do(ctx context.Context, n int) error {
	for range n {
		if len(c.open) == 0 {
			return nil
		}
		i := c.random.IntN(len(c.open))
		o := c.open[i]
		step := o.todo[0]
		if err := step(ctx); err != nil && !doneBefore(err) {
			return err
		}
		o.todo = o.todo[1:]
		// Some callers do not know whether a call arrived, and repeat it at once or later.
		if !o.stopped && c.random.IntN(5) == 0 {
			o.todo = slices.Insert(o.todo, c.random.IntN(len(o.todo)+1), o.repeat(step))
		}
		if len(o.todo) == 0 {
			c.open = slices.Delete(c.open, i, i+1)
		}
	}
	return nil
}

// course is a plan with the clients' steps for it.
type course struct {
	client  *client.Client
	plan    churn.Plan
	handle  client.Handle[uint64]
	todo    []func(context.Context) error
	stop    func(context.Context) error
	stopped bool
	bonuses []bonus
}

func (o *course) id() string { return fmt.Sprintf("plan-%04d", o.plan.Seed) }

func (o *course) start(ctx context.Context) error {
	h, err := client.Start(ctx, o.client, churn.Run, o.plan, client.WithID(o.id()), client.WithRequestID("start "+o.id()))
	if err == nil && !o.handle.Key().IsZero() && h.Key() != o.handle.Key() {
		err = fmt.Errorf("%s: a repeated start made another instance", o.id())
	}
	o.handle = h
	return err
}

// word returns a function that sends the event of a round.
func (o *course) word(round int) func(context.Context) error {
	return func(ctx context.Context) error {
		err := o.handle.Raise(ctx, churn.WordEvent, wordOf(o.plan, round), client.WithRequestID(fmt.Sprintf("word %d", round)))
		if o.stopped && errors.Is(err, client.ErrEnded) {
			return nil
		}
		return err
	}
}

// repeat returns a function that repeats a step. By then the plan may have ended.
func (o *course) repeat(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := step(ctx); !errors.Is(err, client.ErrEnded) {
			return err
		}
		return nil
	}
}

// doneBefore reports whether a repeated call found an instance that had ended. The client repeats a call if it does
// not know whether it arrived.
func doneBefore(err error) bool {
	return errors.Is(err, client.ErrOutcomeUnknown) && errors.Is(err, client.ErrEnded)
}

func (o *course) cancel(ctx context.Context) error {
	o.stopped = true
	return o.handle.Cancel(ctx, "by the kill test")
}

func (o *course) terminate(ctx context.Context) error {
	o.stopped = true
	return o.handle.Terminate(ctx, "by the kill test")
}
