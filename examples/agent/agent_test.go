package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/agent"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// fake is a model that looks for prices, buys the best offer and answers. It thinks for ten seconds and has no memory: what it does follows
// from the messages alone.
func fake(_ context.Context, _ string, p agent.Prompt) (agent.Reply, error) {
	time.Sleep(10 * time.Second) // takes no real time in the bubble of the test
	goal, last := p.Messages[0].Text, p.Messages[len(p.Messages)-1]
	switch {
	case len(p.Messages) == 1:
		var calls []agent.Call
		for i, shop := range []string{"north", "south", "east", "west", "nowhere"} {
			calls = append(calls, agent.Call{ID: fmt.Sprint("price-", i), Tool: "price", Args: shop + " " + goal})
		}
		return agent.Reply{Text: "I compare prices.", Calls: calls, Tokens: 100}, nil
	case strings.HasPrefix(last.Call, "price-"):
		return agent.Reply{Text: "I buy in the south.", Calls: []agent.Call{{ID: "buy-south", Tool: "buy", Args: "south " + goal}}, Tokens: 200}, nil
	case last.From == agent.User:
		return agent.Reply{Text: "I buy as you say.", Calls: []agent.Call{{ID: "buy-east", Tool: "buy", Args: last.Text}}, Tokens: 200}, nil
	default:
		return agent.Reply{Text: "The end: " + last.Text, Tokens: 50}, nil
	}
}

// world is what the tools reach.
type world struct {
	running, most atomic.Int32
	bought        []string
}

func (w *world) price(_ context.Context, args string) (string, error) {
	w.most.Store(max(w.most.Load(), w.running.Add(1)))
	defer w.running.Add(-1)
	time.Sleep(time.Minute)
	if strings.HasPrefix(args, "nowhere") {
		return "", orchestration.NonRetryable(errors.New("the shop is closed"))
	}
	return fmt.Sprintf("%d EUR", len(args)), nil
}

func (w *world) buy(_ context.Context, args string) (string, error) {
	w.bought = append(w.bought, args)
	return "bought " + args, nil
}

// start starts an agent that may not buy without a person.
func start(e *orchestrationtest.Env, w *world, complete func(context.Context, string, agent.Prompt) (agent.Reply, error)) orchestrationtest.Handle[agent.Result] {
	orchestrationtest.AddActivities(e, &agent.Agent{
		Complete: complete, Tools: map[string]func(context.Context, string) (string, error){"price": w.price, "buy": w.buy},
	})
	task := agent.Task{Goal: "lamp", Tokens: 5000, Dangerous: []string{"buy"}}
	return orchestrationtest.Start(e, agent.Run, agent.State{Task: task}, client.WithID("agent-1"))
}

// progress asks the agent how far it is.
func progress(t *testing.T, e *orchestrationtest.Env, h orchestrationtest.Handle[agent.Result]) agent.Progress {
	t.Helper()
	p, err := client.Query[agent.Progress](e.Context(), h.Handle, "progress", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestApproval(t *testing.T) {
	for name, c := range map[string]struct {
		decision *agent.Decision // five hours after the start
		bought   []string
		answer   string
	}{
		"allowed":    {&agent.Decision{Call: "buy-south", Allowed: true, By: "ann"}, []string{"south lamp"}, "The end: bought south lamp"},
		"refused":    {&agent.Decision{Call: "buy-south", By: "ann"}, nil, "The end: refused by ann"},
		"no word":    {nil, nil, "The end: refused by nobody: the time is over"},
		"other call": {&agent.Decision{Call: "buy-east", Allowed: true, By: "eve"}, nil, "The end: refused by nobody: the time is over"},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				w := &world{}
				h := start(e, w, fake)
				e.Sleep(4 * time.Hour)
				p := progress(t, e, h)
				if p.Turns != 2 || p.Tokens != 300 || len(p.Asks) != 1 || p.Asks[0].ID != "buy-south" || p.Last != "I buy in the south." {
					t.Errorf("the progress is %+v", p)
				}
				if w.most.Load() != agent.AtOnce {
					t.Errorf("%d tools at once", w.most.Load())
				}
				e.Sleep(time.Hour)
				if c.decision != nil {
					if err := h.Raise(e.Context(), "approval", c.decision); err != nil {
						t.Fatal(err)
					}
				}
				got, err := h.Wait(e.Context())
				if want := (agent.Result{Answer: c.answer, Turns: 3, Tokens: 350}); got != want || err != nil || !slices.Equal(w.bought, c.bought) {
					t.Errorf("%+v, %v, bought %q, want %+v", got, err, w.bought, want)
				}
			})
		})
	}
}

// An instruction that comes while the model thinks is read in the next turn, even if the model has its answer.
func TestSteering(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w := &world{}
		h := start(e, w, fake)
		if err := h.Raise(e.Context(), "approval", agent.Decision{Call: "buy-south", By: "ann"}); err != nil { // before it asks
			t.Fatal(err)
		}
		if _, err := client.Update[int](e.Context(), h.Handle, "steer", ""); !errors.Is(err, client.ErrRejected) {
			t.Errorf("an empty instruction: %v", err)
		}
		e.Sleep(10*time.Second + 2*time.Minute + 15*time.Second) // in the middle of the third turn
		turn, err := client.Update[int](e.Context(), h.Handle, "steer", "east lamp")
		if turn != 4 || err != nil {
			t.Errorf("it steers turn %d, %v", turn, err)
		}
		e.After(time.Hour, func() error {
			return h.Raise(e.Context(), "approval", agent.Decision{Call: "buy-east", Allowed: true, By: "ann"})
		})
		got, err := h.Wait(e.Context())
		if got.Answer != "The end: bought east lamp" || got.Turns != 5 || err != nil || !slices.Equal(w.bought, []string{"east lamp"}) {
			t.Errorf("%+v, %v, bought %q", got, err, w.bought)
		}
	})
}

// An instruction that comes while tools run stands behind their results: services of models demand these directly after the calls.
func TestSteeringWhileToolsRun(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := start(e, &world{}, func(ctx context.Context, key string, p agent.Prompt) (agent.Reply, error) {
			for i, m := range p.Messages {
				for n, call := range m.Calls {
					if i+1+n >= len(p.Messages) || p.Messages[i+1+n].Call != call.ID {
						t.Errorf("the result of %s is out of place", call.ID)
					}
				}
			}
			return fake(ctx, key, p)
		})
		e.Sleep(time.Minute)
		turn, err := client.Update[int](e.Context(), h.Handle, "steer", "east lamp")
		if turn != 2 || err != nil {
			t.Errorf("it steers turn %d, %v", turn, err)
		}
		e.Sleep(time.Hour)
		if p := progress(t, e, h); len(p.Asks) != 1 || p.Asks[0].ID != "buy-east" || p.Last != "I buy as you say." {
			t.Errorf("the progress is %+v", p)
		}
		if _, err := h.Wait(e.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The model never comes to an end: the budget ends it, in the third execution. The model sees no more messages than fit.
func TestBudgetHoldsOverExecutions(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		longest := 0
		h := start(e, &world{}, func(_ context.Context, _ string, p agent.Prompt) (agent.Reply, error) {
			longest = max(longest, len(p.Messages))
			if p.Messages[0].Text != "lamp" {
				return agent.Reply{}, errors.New("the task is forgotten")
			}
			return agent.Reply{Text: "hm", Calls: []agent.Call{{ID: "x", Tool: "guess"}}, Tokens: 100}, nil
		})
		got, err := h.Wait(e.Context())
		if want := (agent.Result{Turns: 50, Tokens: 5000}); got != want || err != nil || longest != 40 {
			t.Errorf("%+v, %v, at most %d messages, want %+v", got, err, longest, want)
		}
		if d, err := h.Describe(e.Context()); err != nil || d.Execution != 3 {
			t.Errorf("%d executions, %v", d.Execution, err)
		}
		if p := progress(t, e, h); p.Turns != 50 || p.Last != `error: there is no tool "guess"` {
			t.Errorf("the progress is %+v", p)
		}
	})
}

// All nodes die while the model thinks, while a tool runs, and while a person decides. What was done by then is not done again, and the model
// gets the same key in both attempts.
func TestCrashes(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w := &world{}
		keys, thought := map[string]int{}, 0
		h := start(e, w, func(ctx context.Context, key string, p agent.Prompt) (agent.Reply, error) {
			keys[key]++
			if thought++; thought == 2 { // the second turn, when the prices are known
				e.Kill()
			}
			return fake(ctx, key, p)
		})
		e.After(30*time.Second, func() error { e.Kill(); return nil }) // while the first prices are looked up
		e.After(2*time.Hour, func() error { e.Kill(); return nil })
		e.After(5*time.Hour, func() error {
			e.Kill(orchestrationtest.AfterCommit())
			return h.Raise(e.Context(), "approval", agent.Decision{Call: "buy-south", Allowed: true, By: "ann"})
		})
		got, err := h.Wait(e.Context())
		want := agent.Result{Answer: "The end: bought south lamp", Turns: 3, Tokens: 350}
		if got != want || err != nil || !slices.Equal(w.bought, []string{"south lamp"}) {
			t.Errorf("%+v, %v, bought %q, want %+v", got, err, w.bought, want)
		}
		if thought != 4 || len(keys) != 3 {
			t.Errorf("the model was called %d times, with the keys %v", thought, keys)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Lease = 30 * time.Second }))
}

// A model that is out of order ends the agent with an error that names the turn. Cancelling stops it at once.
func TestEnds(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := start(e, &world{}, func(context.Context, string, agent.Prompt) (agent.Reply, error) {
			return agent.Reply{}, errors.New("overloaded")
		})
		if _, err := h.Wait(e.Context()); !errors.Is(err, client.ErrFailed) || !strings.Contains(err.Error(), "turn 1: overloaded") {
			t.Errorf("got %v", err)
		}
	})
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w := &world{}
		h := start(e, w, fake)
		e.After(time.Hour, func() error { return h.Cancel(e.Context(), "too slow") })
		if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) || len(w.bought) > 0 {
			t.Errorf("got %v, bought %q", err, w.bought)
		}
	})
}
