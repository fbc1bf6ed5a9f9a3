package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"github.com/perdure/perdure/client"
)

// Fields that many acts have.
//
//nolint:gochecknoglobals // constant table
var (
	reasonField  = field{name: "reason", kind: aNote, label: "Reason", help: "For people who read the history and the audit. At most 4 KiB."}
	requestField = field{name: "requestId", label: "Request ID", help: "A repeat with the same ID happens once.", shown: true}
	payloadField = field{name: "payload", kind: aJSON, label: "Payload", help: "JSON, at most 2 MiB. Empty: null."}
)

func running(d *client.Description) bool { return !d.Status.Ended() }

// startFields returns the fields of a start.
func startFields() []field {
	return []field{
		{name: "orchestration", label: "Orchestration", required: true, help: "The stored name, as the page of nodes lists it."},
		{name: "input", kind: aJSON, label: "Input", help: "JSON, at most 2 MiB. Empty: null."},
		{name: "id", label: "Instance ID", help: "Empty: a random one."},
		{name: "version", label: "Version", help: "Empty: the newest that a node has registered."},
		{name: "ifExists", kind: aValue, label: "If the ID is in use", choices: []string{"reject", "use-existing", "replace-ended", "use-running"}, value: "reject"},
		{name: "delay", kind: aSpan, label: "Delay", help: "Such as 90s or 1h30m. Empty: none."},
		{name: "timeLimit", kind: aSpan, label: "Time limit", help: "Such as 24h. Then it is cancelled, and terminated a minute later. Empty: none."},
		requestField,
	}
}

// started names the instance that an act has made.
type started struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func instanceActs() []act {
	return []act{
		{
			of: &ofStore, name: "start", right: client.ActStart, title: "Start an instance", fields: startFields(), do: start,
			answers: reflect.TypeFor[started](),
			says:    "A new instance of an orchestration is stored. A node that has it registered runs it.",
		},
		{
			of: &ofInstance, name: "raise", right: client.ActRaise, title: "Raise an event", when: running, do: raise,
			says:   "The event is put into the instance's mailbox of that name. The code takes it when it comes to that.",
			fields: []field{{name: "event", label: "Event", required: true}, payloadField, requestField},
		},
		{
			of: &ofInstance, name: "query", right: client.ActQuery, title: "Query", do: query,
			answers: reflect.TypeFor[answer](),
			says:    "The query asks the instance's code. It changes nothing. \"queries\" lists the names, and \"stack\" says where the code waits.",
			fields: []field{
				{name: "query", label: "Query", required: true, value: "queries"}, {name: "input", kind: aJSON, label: "Input", help: "JSON. Empty: null."},
			},
		},
		{
			of: &ofInstance, name: "update", right: client.ActUpdate, title: "Update", when: running, do: update,
			answers: reflect.TypeFor[answer](),
			says:    "The update calls a handler of the code, and waits up to 20 seconds for its output.",
			fields: []field{
				{name: "update", label: "Update", required: true}, {name: "input", kind: aJSON, label: "Input", help: "JSON, at most 2 MiB. Empty: null."}, requestField,
			},
		},
		{
			of: &ofInstance, name: "cancel", right: client.ActCancel, title: "Cancel", when: running, fields: []field{reasonField},
			says: "The code is asked to stop: its context is cancelled, and it may clean up.",
			do: onInstance(func(ctx context.Context, h client.Handle[json.RawMessage], in input) error {
				return h.Cancel(ctx, in["reason"])
			}),
		},
		{
			of: &ofInstance, name: "terminate", right: client.ActTerminate, title: "Terminate", danger: true, when: running, fields: []field{reasonField},
			says: "The instance ends at once, and its code cleans nothing up. Activities and children are cancelled, and waiting messages become dead letters.",
			do: onInstance(func(ctx context.Context, h client.Handle[json.RawMessage], in input) error {
				return h.Terminate(ctx, in["reason"])
			}),
		},
		{
			of: &ofInstance, name: "unblock", right: client.ActUnblock, title: "Unblock",
			when: func(d *client.Description) bool { return d.Blocked != nil && running(d) },
			says: "The next turn begins at once. Mend the cause first.",
			do: onInstance(func(ctx context.Context, h client.Handle[json.RawMessage], _ input) error {
				return h.Unblock(ctx)
			}),
		},
		{
			of: &ofInstance, name: "drop-message", right: client.ActDropMessage, title: "Drop a message",
			when: func(d *client.Description) bool { return d.Blocked != nil && running(d) },
			says: "The message goes to the dead letters, and the code never sees it. The text of a blocked instance names the message by its number.",
			fields: []field{
				{name: "message", kind: anInt, label: "Message", required: true, help: "Its number, such as 17."}, reasonField,
			},
			do: onInstance(func(ctx context.Context, h client.Handle[json.RawMessage], in input) error {
				return h.DropMessage(ctx, in.int("message"), in["reason"])
			}),
		},
		{
			of: &ofInstance, name: "move", right: client.ActMove, title: "Move to another version", when: running,
			says: "The instance goes on with another version of its code, if its history replays with that.",
			fields: []field{
				{name: "version", label: "Version", help: "Empty: code without a version."},
				{name: "suspend", kind: aBool, label: "Suspend it meanwhile if it is busy"},
			},
			do: onInstance(func(ctx context.Context, h client.Handle[json.RawMessage], in input) error {
				var opts []client.MoveOption
				if in.bool("suspend") {
					opts = append(opts, client.SuspendToMove())
				}
				return h.Move(ctx, in["version"], opts...)
			}),
		},
	}
}

// onInstance makes the function of an act that returns nothing.
func onInstance(do func(context.Context, client.Handle[json.RawMessage], input) error) func(context.Context, *call, input) (outcome, error) {
	return func(ctx context.Context, c *call, in input) (outcome, error) {
		h, err := c.handle()
		if err != nil {
			return outcome{}, err
		}
		return outcome{}, do(ctx, h, in)
	}
}

func start(ctx context.Context, c *call, in input) (outcome, error) {
	policies := map[string]client.IDPolicy{"use-existing": client.UseExisting, "replace-ended": client.ReplaceEnded, "use-running": client.UseRunning}
	opts := []client.StartOption{client.WithIDPolicy(policies[in["ifExists"]])}
	if in["id"] != "" {
		opts = append(opts, client.WithID(in["id"]))
		if in["requestId"] != "" {
			opts = append(opts, client.WithRequestID(in["requestId"]))
		}
	}
	if in["version"] != "" {
		opts = append(opts, client.WithVersion(in["version"]))
	}
	if in["delay"] != "" {
		opts = append(opts, client.WithDelay(in.span("delay")))
	}
	if in["timeLimit"] != "" {
		opts = append(opts, client.WithTimeLimit(in.span("timeLimit")))
	}
	h, err := client.StartNamed[json.RawMessage](ctx, c.client, in["orchestration"], in.json("input"), opts...)
	return outcome{value: started{h.ID(), h.Key().String()}, page: "/instances/" + h.Key().String()}, err
}

func raise(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	var opts []client.RaiseOption
	if in["requestId"] != "" {
		opts = append(opts, client.WithRequestID(in["requestId"]))
	}
	return outcome{}, h.Raise(ctx, in["event"], in.json("payload"), opts...)
}

// answer is what the code of an instance has returned.
type answer struct {
	Name   string          `json:"name"`
	Output json.RawMessage `json:"output"`
}

func query(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	out, err := client.Query[json.RawMessage](ctx, h, in["query"], in.json("input"), client.EvenBlocked())
	return outcome{value: answer{in["query"], out}}, err
}

func update(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	id := cmp.Or(in["requestId"], secret())
	out, err := client.Update[json.RawMessage](ctx, h, in["update"], in.json("input"), client.WithUpdateID(id))
	return outcome{value: answer{in["update"], out}}, err
}
