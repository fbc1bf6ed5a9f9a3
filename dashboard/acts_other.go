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
	eventField := field{name: "event", kind: anInt, label: "Event", required: true, help: "The new execution begins before this event, which must be a message."}
	executionField := field{
		name: "execution", kind: anInt, label: "Execution", shown: true, help: "The execution that was shown. If another one is current, nothing happens.",
	}
	return []act{
		{
			of: &ofInstance, name: "reset", right: client.ActReset, title: "Reset to an event",
			says: "The instance goes back to the point before the event and runs on from there. The old execution stays readable.",
			fields: []field{
				eventField, {name: "dropLater", kind: aBool, label: "Forget the events that it received later"}, reasonField, executionField, requestField,
			},
			do: reset, answers: reflect.TypeFor[opened](),
		},
		{
			of: &ofInstance, name: "fork", right: client.ActFork, title: "Fork",
			says: "A new instance begins at the point before the event. This one stays as it is.",
			fields: []field{
				eventField, {name: "id", label: "ID of the new instance", required: true}, reasonField, executionField, requestField,
			},
			do: fork, answers: reflect.TypeFor[started](),
		},
	}
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
	n, err := client.Reset(ctx, h, in.int("event"), opts...)
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
	made, err := client.Fork(ctx, h, in.int("event"), in["id"], opts...)
	return outcome{started{made.ID(), made.Key().String()}, "/instances/" + made.Key().String()}, err
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
