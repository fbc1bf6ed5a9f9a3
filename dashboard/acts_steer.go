package dashboard

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// steerActs are acts that stop instances for a while and let them go on.
func steerActs() []act {
	repeat := func(in input) []client.ActOption {
		if in["requestId"] == "" {
			return nil
		}
		return []client.ActOption{client.Repeatable(in["requestId"])}
	}
	return []act{
		{
			of: &ofInstance, name: "suspend", right: client.ActSuspend, title: "Suspend", fields: []field{reasonField, requestField},
			when: func(d *client.Description) bool { return d.Status == client.StatusRunning },
			says: "The code does not run and no activity begins until the instance is resumed. Results and messages wait. Children go on.",
			do: onInstance(func(ctx context.Context, h client.Handle[rawJSON], in input) error {
				return h.Suspend(ctx, in["reason"], repeat(in)...)
			}),
		},
		{
			of: &ofInstance, name: "resume", right: client.ActResume, title: "Resume", fields: []field{reasonField, requestField},
			when: func(d *client.Description) bool { return d.Status == client.StatusSuspended },
			says: "The instance goes on where it was suspended.",
			do: onInstance(func(ctx context.Context, h client.Handle[rawJSON], in input) error {
				return h.Resume(ctx, in["reason"], repeat(in)...)
			}),
		},
		{
			of: &ofInstance, name: "restart", right: client.ActRestart, title: "Restart", do: restart, answers: reflect.TypeFor[started](),
			filled: oldInput, edits: true,
			when: func(d *client.Description) bool { return d.Status.Ended() },
			says: "The orchestration starts again from the beginning, with the same version and input, or with another input. " +
				"The old instance stays readable by its key.",
			fields: []field{{name: "id", label: "ID of the new instance", help: "Empty: that of the old one."}, anotherInput, reasonField, requestField},
		},
	}
}

// anotherInput is the field of the input of a restart.
//
//nolint:gochecknoglobals // constant table
var anotherInput = field{name: "input", kind: aJSON, label: "Another input", help: "JSON, at most 2 MiB. Empty: that of the old one."}

// oldInput fills the form with the input of the instance, if the principal may see it and has asked for payloads. With Redact it is not the whole
// input, so nobody can edit it here.
func oldInput(ctx context.Context, c *call) (input, error) {
	if !c.payloads || !c.editsInputs() {
		return input{}, nil
	}
	h, err := c.handle()
	if err != nil {
		return nil, err
	}
	p, err := h.HistoryPage(ctx, client.HistoryRange{Execution: 1, From: 1, To: 1})
	if err != nil || len(p.Events) == 0 {
		return input{}, nil //nolint:nilerr // the first execution is not stored any more, or has not begun: the act says so
	}
	return input{anotherInput.name: string(p.Events[0].Input)}, nil
}

// editsInputs reports whether the principal may see whole inputs.
func (c *call) editsInputs() bool { return c.texts && !c.s.o.HidePayloads && c.s.o.Redact == nil }

func restart(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	var opts []client.RestartOption
	if in["id"] != "" {
		opts = append(opts, client.RestartAs(in["id"]))
	}
	if in["requestId"] != "" {
		opts = append(opts, client.Repeatable(in["requestId"]))
	}
	if in["input"] != "" {
		opts = append(opts, client.RestartWithInput(in.json("input")))
	}
	made, err := h.Restart(ctx, in["reason"], opts...)
	return outcome{value: started{made.ID(), made.Key().String()}, page: "/instances/" + made.Key().String()}, err
}

// activityActs are acts on a pending activity. They name what was shown, so that a page that is out of date changes nothing.
func activityActs() []act {
	shown := []field{
		{name: "execution", kind: anInt, label: "Execution", required: true, shown: true, help: "That was shown."},
		{name: "attempt", kind: anInt, label: "Attempt", required: true, shown: true, help: "That was shown."},
		{name: "state", kind: aValue, label: "State", shown: true, choices: []string{"Queued", "Running", "Parked", "Paused"}, help: "That was shown."},
	}
	with := func(fields ...field) []field { return append(append(fields, reasonField), shown...) }
	on := func(do func(context.Context, client.PendingActivity, input) error) func(context.Context, *call, input) (outcome, error) {
		return func(ctx context.Context, c *call, in input) (outcome, error) {
			h, err := c.handle()
			if err != nil {
				return outcome{}, err
			}
			event, err := c.number("event")
			if err != nil {
				return outcome{}, err
			}
			ref := client.ActivityRef{Execution: in.int("execution"), EventID: event, Attempt: in.int("attempt"), State: client.ActivityState(in["state"])}
			return outcome{}, do(ctx, h.Activity(ref), in)
		}
	}
	return []act{
		{
			of: &ofActivity, name: "retry", right: client.ActActivity, title: "Retry now", fields: with(),
			says: "The next attempt begins at once. An attempt that runs is given up, and counts.",
			do:   on(func(ctx context.Context, p client.PendingActivity, in input) error { return p.Retry(ctx, in["reason"]) }),
		},
		{
			of: &ofActivity, name: "pause", right: client.ActActivity, title: "Pause", fields: with(),
			says: "The activity does not run until it is resumed. An attempt that runs is given up, and counts.",
			do:   on(func(ctx context.Context, p client.PendingActivity, in input) error { return p.Pause(ctx, in["reason"]) }),
		},
		{
			of: &ofActivity, name: "resume", right: client.ActActivity, title: "Resume", fields: with(),
			says: "The paused activity may run at once.",
			do: on(func(ctx context.Context, p client.PendingActivity, in input) error {
				return p.Resume(ctx, in["reason"])
			}),
		},
		{
			of: &ofActivity, name: "complete", right: client.ActActivity, title: "Complete", danger: true,
			fields: with(field{name: "output", kind: aJSON, label: "Output", help: "JSON of the type that the activity would return. Empty: null."}),
			says:   "The activity ends with this output in place of its code. What its code does outside cannot be undone.",
			do: on(func(ctx context.Context, p client.PendingActivity, in input) error {
				return p.Complete(ctx, in.json("output"), in["reason"])
			}),
		},
		{
			of: &ofActivity, name: "fail", right: client.ActActivity, title: "Fail", danger: true,
			fields: with(field{name: "error", label: "Error", required: true, help: "The text that the orchestration's code gets."}),
			says:   "The activity ends with this error, and is not tried again.",
			do: on(func(ctx context.Context, p client.PendingActivity, in input) error {
				return p.Fail(ctx, errors.New(in["error"]), in["reason"])
			}),
		},
	}
}

// orderActs are orders to nodes.
func orderActs() []act {
	type order = func(ctx context.Context, name, reason string, opts ...operate.OrderOption) (operate.Confirmation, error)
	on := func(param string, do func(*operate.Operator) order) func(context.Context, *call, input) (outcome, error) {
		return func(ctx context.Context, c *call, in input) (outcome, error) {
			name := c.param(param)
			if name == "" {
				return outcome{}, badInput("parameter %s is missing: it is needed", param)
			}
			var opts []operate.OrderOption
			if !c.isAPI() { // nobody looks at a page that long
				opts = append(opts, operate.ConfirmWithin(time.Second))
			}
			confirmed, err := do(operate.New(c.client))(ctx, name, in["reason"], opts...)
			return outcome{value: confirmed}, err
		}
	}
	confirmation := reflect.TypeFor[operate.Confirmation]()
	return []act{
		{
			of: &ofQueue, name: "pause", right: client.ActQueue, title: "Pause the queue", fields: []field{reasonField}, answers: confirmation,
			says: "No node begins activities of the queue until it is resumed. Those that run go on. Nodes obey within five seconds.",
			do:   on("name", func(o *operate.Operator) order { return o.PauseQueue }),
		},
		{
			of: &ofQueue, name: "resume", right: client.ActQueue, title: "Resume the queue", fields: []field{reasonField}, answers: confirmation,
			says: "Nodes take activities of the queue again.",
			do:   on("name", func(o *operate.Operator) order { return o.ResumeQueue }),
		},
		{
			of: &ofNode, name: "drain", right: client.ActNode, title: "Drain the node", fields: []field{reasonField}, answers: confirmation,
			says: "The node takes no more work, and finishes what runs on it. Its process stays alive.",
			do:   on("owner", func(o *operate.Operator) order { return o.DrainNode }),
		},
		{
			of: &ofNode, name: "undrain", right: client.ActNode, title: "Let the node work again", fields: []field{reasonField}, answers: confirmation,
			says: "The node takes work again.",
			do:   on("owner", func(o *operate.Operator) order { return o.UndrainNode }),
		},
	}
}
