package agent

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Who has said a message.
const (
	User  = "user"
	Model = "model"
	Tool  = "tool"
)

// Message is a part of the conversation.
type Message struct {
	From  string
	Text  string
	Calls []Call `json:",omitempty"` // that the model wants
	Call  string `json:",omitempty"` // of a result: the ID of the call
}

// Call is a call of a tool. Its ID is that of the model, which finds the result by it.
type Call struct {
	ID, Tool, Args string
}

// Prompt is what the model gets to read.
type Prompt struct{ Messages []Message }

// Reply is what the model says. Without calls it is the answer.
type Reply struct {
	Text   string
	Calls  []Call
	Tokens int // of the prompt and of the reply
}

// Agent has the model and the tools of a node. Register its methods with runtime.AddActivities.
type Agent struct {
	// Complete calls the model. The key is the same in each attempt of one call: a service that knows it bills a repeat once.
	Complete func(ctx context.Context, key string, p Prompt) (Reply, error)
	// Tools are called by their names.
	Tools map[string]func(ctx context.Context, args string) (string, error)
}

// Think asks the model.
func (a *Agent) Think(ctx context.Context, p Prompt) (Reply, error) {
	return a.Complete(ctx, activity.IdempotencyKey(ctx), p)
}

// Use calls a tool. The model may ask for one that does not exist.
func (a *Agent) Use(ctx context.Context, c Call) (string, error) {
	tool, ok := a.Tools[c.Tool]
	if !ok {
		return "", orchestration.NonRetryable(fmt.Errorf("there is no tool %q", c.Tool))
	}
	return tool(ctx, c.Args)
}
