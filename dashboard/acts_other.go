package dashboard

import (
	"context"
	"reflect"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// opened names the execution that a reset has opened.
type opened struct {
	Execution int64 `json:"execution"`
}

func openingActs() []act {
	eventField := field{name: "event", kind: anInt, label: "Event", help: "The new execution begins before this event, which must be a message."}
	executionField := field{
		name: "execution", kind: anInt, label: "Execution", shown: true,
		help: "The execution that was shown. If another one is current, nothing happens. The field to needs it.",
	}
	return []act{
		{
			of: &ofInstance, name: "reset", right: client.ActReset, title: "Reset to an event",
			says: "The instance goes back to the point before the event and runs on from there. The old execution stays readable.",
			fields: []field{
				eventField, toField, {name: "dropLater", kind: aBool, label: "Forget the events that it received later"}, reasonField, executionField, requestField,
			},
			finds: true, do: reset, answers: reflect.TypeFor[opened](),
		},
		{
			of: &ofInstance, name: "fork", right: client.ActFork, title: "Fork",
			says: "A new instance begins at the point before the event. This one stays as it is.",
			fields: []field{
				eventField, toField, {name: "id", label: "ID of the new instance", required: true}, reasonField, executionField, requestField,
			},
			finds: true, do: fork, answers: reflect.TypeFor[started](),
		},
	}
}

// toField finds the event of a reset or fork.
//
//nolint:gochecknoglobals // constant table
var toField = field{
	name: "to", label: "Or find the event",
	help: "In place of the event: first-failure or last-failure of an activity, patch=ID, event=N, or time=2026-01-02T03:04:05Z. " +
		"The page shows it before anything happens.",
}

// eventOf returns the event to open an execution at. One that has to be found is looked for in the execution that was shown, so that a repeat finds
// the same.
func eventOf(ctx context.Context, h client.Handle[rawJSON], in input) (int64, error) {
	switch {
	case (in["event"] == "") == (in["to"] == ""):
		return 0, badInput("event and to: give one of them")
	case in["to"] == "":
		return in.int("event"), nil
	case in["execution"] == "":
		return 0, badInput("execution is missing: to needs that of the preview, so that the act meets no other one")
	}
	k, err := client.ParsePointKind(in["to"])
	if err != nil {
		return 0, badInput("to: %v", err)
	}
	p, err := h.FindPoint(ctx, k.In(in.int("execution")))
	return p.Event, err
}

// openOptions returns the options that both acts have.
func openOptions(in input) []client.OpenOption {
	var opts []client.OpenOption
	if in["execution"] != "" { // the node compares it, so that nothing comes between
		opts = append(opts, client.InExecution(in.int("execution")))
	}
	if in["reason"] != "" {
		opts = append(opts, client.WithReason(in["reason"]))
	}
	if in["requestId"] != "" {
		opts = append(opts, client.Repeatable(in["requestId"]))
	}
	return opts
}

func reset(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	var opts []client.ResetOption
	for _, o := range openOptions(in) {
		opts = append(opts, o)
	}
	if in.bool("dropLater") {
		opts = append(opts, client.DropLater())
	}
	at, err := eventOf(ctx, h, in)
	if err != nil {
		return outcome{}, err
	}
	n, err := client.Reset(ctx, h, at, opts...)
	return outcome{value: opened{n}}, err
}

func fork(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	var opts []client.ForkOption
	for _, o := range openOptions(in) {
		opts = append(opts, o)
	}
	at, err := eventOf(ctx, h, in)
	if err != nil {
		return outcome{}, err
	}
	made, err := client.Fork(ctx, h, at, in["id"], opts...)
	return outcome{value: started{made.ID(), made.Key().String()}, page: "/instances/" + made.Key().String()}, err
}

func deadLetterActs() []act {
	onDeadLetter := func(do func(context.Context, *client.Client, int64) error) func(context.Context, *call, input) (outcome, error) {
		return func(ctx context.Context, c *call, _ input) (outcome, error) {
			id, err := c.number("id")
			if err != nil {
				return outcome{}, err
			}
			return outcome{}, do(ctx, c.client, id)
		}
	}
	return []act{
		{
			of: &ofDeadLetter, name: "redrive", right: client.ActRedrive, title: "Redrive",
			says: "The message or activity goes back to its instance, if that still runs.",
			do: onDeadLetter(func(ctx context.Context, cl *client.Client, id int64) error {
				return operate.New(cl).RedriveDeadLetter(ctx, id)
			}),
		},
		{
			of: &ofDeadLetter, name: "drop", right: client.ActDiscard, title: "Drop", danger: true,
			says: "The dead letter is deleted with its payload.",
			do: onDeadLetter(func(ctx context.Context, cl *client.Client, id int64) error {
				return operate.New(cl).DropDeadLetter(ctx, id)
			}),
		},
	}
}
