// Package agent is an agent: a language model that decides which tools to use until it has an answer. README.md explains it step by step.
//
// The loop is an orchestration. What costs money or changes the world is an activity: a call of the model, a call of a tool. So a crash
// repeats at most the calls that were running, and the conversation is never lost.
package agent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/orchestration"
)

const (
	// AtOnce is how many tools of one turn run at the same time.
	AtOnce = 3
	// Patience is how long a dangerous call waits for a person. Then it counts as refused.
	Patience = 24 * time.Hour
	// page is how many turns one execution has. It keeps the history short.
	page = 20
	// window is how many messages the model sees: the task and the last ones.
	window = 40
)

// Task is what the agent has to do. Tokens is its budget: the next call of the model is not made when it is used up.
type Task struct {
	Goal   string
	Tokens int
	// Dangerous are the tools that a person has to allow, each time.
	Dangerous []string
}

// Result is how the agent ended.
type Result struct {
	Answer string // empty if the budget was used up
	Turns  int
	Tokens int // that were used
}

// State is all that the agent knows. One execution leaves it to the next.
type State struct {
	Task      Task
	Messages  []Message
	Turns     int
	Tokens    int
	Decisions map[string]Decision // by the ID of the call
}

// Decision is the payload of the event "approval".
type Decision struct {
	Call    string // its ID: see Progress
	Allowed bool
	By      string
}

// Progress is the answer to the query "progress".
type Progress struct {
	Turns, Tokens int
	Last          string // what was said last
	Asks          []Call // calls that wait for the event "approval"
}

// ErrEmpty rejects an instruction without a text.
var ErrEmpty = errors.New("the instruction is empty")

// Run works until the model has an answer or the budget is used up. A query "progress" tells how far it is. An update "steer" gives it an
// instruction, and returns the turn in which the model reads it. An event "approval" allows or refuses a dangerous call.
func Run(ctx *orchestration.Context, s State) (Result, error) {
	a := &run{s: s}
	if a.s.Decisions == nil {
		a.s.Decisions = map[string]Decision{}
	}
	orchestration.HandleQuery(ctx, "progress", a.progress)
	orchestration.HandleEvent(ctx, "approval", func(_ *orchestration.Context, d Decision) error {
		a.s.Decisions[d.Call] = d
		return nil
	})
	orchestration.HandleUpdate(ctx, "steer", func(_ *orchestration.Context, text string) (int, error) {
		a.s.Messages = append(a.s.Messages, Message{From: User, Text: text})
		if a.thinking {
			return a.s.Turns + 2, nil // the model has its prompt for this turn
		}
		return a.s.Turns + 1, nil
	}, orchestration.Validate(func(text string) error {
		if text == "" {
			return ErrEmpty
		}
		return nil
	}))
	if len(a.s.Messages) == 0 {
		a.s.Messages = []Message{{From: User, Text: a.s.Task.Goal}}
	}
	for range page {
		if a.s.Tokens >= a.s.Task.Tokens {
			return a.result(""), nil
		}
		answer, done, err := a.turn(ctx)
		if err != nil || done {
			return a.result(answer), err
		}
	}
	return Result{}, orchestration.ContinueAsNewAfterHandlers(ctx, func() State { return a.s })
}

// run is one execution. Its coroutines and handlers never run at the same time, so they may share it.
type run struct {
	s        State
	asks     []Call
	thinking bool // the model is asked
}

// turn asks the model, and does what it wants.
func (a *run) turn(ctx *orchestration.Context) (answer string, done bool, err error) {
	a.forget()
	var agent *Agent // never called here: it only names the activities
	said := len(a.s.Messages)
	a.thinking = true
	reply, err := orchestration.CallActivity(ctx, agent.Think, Prompt{Messages: a.s.Messages},
		orchestration.WithStartToCloseTimeout(2*time.Minute),
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5, InitialInterval: 5 * time.Second}))
	a.thinking = false
	if err != nil {
		return "", false, fmt.Errorf("turn %d: %w", a.s.Turns+1, err)
	}
	a.s.Turns++
	a.s.Tokens += reply.Tokens
	// What was said while the model was thinking stands behind its reply, which does not know of it. So do results, directly.
	a.s.Messages = slices.Insert(a.s.Messages, said, Message{From: Model, Text: reply.Text, Calls: reply.Calls})
	if len(reply.Calls) == 0 && len(a.s.Messages) == said+1 {
		return reply.Text, true, nil
	}
	results, err := orchestration.Map(ctx, reply.Calls, AtOnce, a.use)
	a.s.Messages = slices.Insert(a.s.Messages, said+1, results...)
	return "", false, err
}

// use returns what a tool says. A tool that fails does not fail the agent: the model reads the error and may try another way.
func (a *run) use(ctx *orchestration.Context, call Call) (Message, error) {
	if slices.Contains(a.s.Task.Dangerous, call.Tool) {
		if d, err := a.ask(ctx, call); err != nil || !d.Allowed {
			return Message{From: Tool, Call: call.ID, Text: "refused by " + d.By}, err
		}
	}
	var agent *Agent
	text, err := orchestration.CallActivity(ctx, agent.Use, call,
		orchestration.WithStartToCloseTimeout(10*time.Minute),
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	if ctx.Err() != nil {
		return Message{}, ctx.Err()
	}
	if err != nil {
		text = "error: " + err.Error()
	}
	return Message{From: Tool, Call: call.ID, Text: text}, nil
}

// ask waits for the decision of a person.
func (a *run) ask(ctx *orchestration.Context, call Call) (Decision, error) {
	a.asks = append(a.asks, call)
	defer func() { a.asks = slices.DeleteFunc(a.asks, func(c Call) bool { return c.ID == call.ID }) }()
	decided := func() bool { _, ok := a.s.Decisions[call.ID]; return ok }
	err := ctx.Await(decided, orchestration.Within(Patience), orchestration.Waiting("allow "+call.Tool+" "+call.Args+"?"))
	if errors.Is(err, orchestration.ErrTimeout) {
		return Decision{Call: call.ID, By: "nobody: the time is over"}, nil
	}
	d := a.s.Decisions[call.ID]
	delete(a.s.Decisions, call.ID)
	return d, err
}

// forget drops the oldest messages after the task. The model does not see them any more, and the history stays small.
func (a *run) forget() {
	if over := len(a.s.Messages) - window; over > 0 {
		a.s.Messages = slices.Delete(a.s.Messages, 1, 1+over)
	}
}

func (a *run) progress(orchestration.None) (Progress, error) {
	return Progress{
		Turns: a.s.Turns, Tokens: a.s.Tokens, Last: a.s.Messages[len(a.s.Messages)-1].Text, Asks: slices.Clone(a.asks),
	}, nil
}

func (a *run) result(answer string) Result {
	return Result{Answer: answer, Turns: a.s.Turns, Tokens: a.s.Tokens}
}
