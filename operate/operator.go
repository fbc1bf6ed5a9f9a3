package operate

import (
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
)

// Operator operates what runs on a store. Make it with [New]. Many goroutines may use it at once. It starts none itself and need
// not be closed.
type Operator struct {
	ownSteps // for the activities of perdure itself, see package access

	client *client.Client
	caller *access.Caller // that of client; nil in a zero Operator
}

// New returns the operator of a client. It works on the store of the client, in the name of the client's principal (see
// client.Client.As), and with its options. It does not touch the store. The methods of an operator without a client return
// client.ErrInvalid.
func New(c *client.Client) *Operator {
	o := &Operator{client: c, caller: access.CallerOf(c)}
	o.ownSteps = access.StepsOf(access.OwnSteps{
		Bulk: access.StepOf(o.stepBulk), SecondBulk: access.StrictStepOf(o.stepBulk), Retention: access.StepOf(o.stepRetention),
	})
	return o
}

// ownSteps has no exported method, and its name makes the field unexported.
type ownSteps = access.Steps
