package dashboard

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/client"
)

// scheduleActs are acts on schedules.
func scheduleActs() []act {
	on := func(do func(context.Context, client.Schedule, input) (any, error)) func(context.Context, *call, input) (outcome, error) {
		return func(ctx context.Context, c *call, in input) (outcome, error) {
			ctx, cancel := context.WithTimeout(ctx, longPoll)
			defer cancel()
			v, err := do(ctx, c.client.Schedule(c.param("id")), in)
			return outcome{value: v}, err
		}
	}
	note := field{name: "note", kind: aNote, label: "Note", help: "For people, at most 1 KiB."}
	return []act{
		{
			of: &ofSchedule, name: "trigger", right: client.ActSchedule, title: "Run now", answers: reflect.TypeFor[client.Triggered](),
			says: "A run starts at once, unless the policy on overlapping runs forbids it.",
			do:   on(func(ctx context.Context, s client.Schedule, _ input) (any, error) { return s.Trigger(ctx) }),
		},
		{
			of: &ofSchedule, name: "update", right: client.ActSchedule, title: "Change the schedule", fields: specFields(), filled: presentSpec, preview: true,
			says: "Runs start at the times of the new specification. Due times before the change are not missed ones. The API keeps what is not given.",
			do: on(func(ctx context.Context, s client.Schedule, in input) (any, error) {
				return nil, s.Update(ctx, in.applySpec)
			}),
		},
		{
			of: &ofSchedule, name: "pause", right: client.ActSchedule, title: "Pause the schedule", fields: []field{note},
			says: "No run starts until the schedule is resumed. Times that pass meanwhile are not made up for.",
			do: on(func(ctx context.Context, s client.Schedule, in input) (any, error) {
				return nil, s.Pause(ctx, in["note"])
			}),
		},
		{
			of: &ofSchedule, name: "resume", right: client.ActSchedule, title: "Resume the schedule", fields: []field{note},
			says: "Runs start again at the times to come.",
			do: on(func(ctx context.Context, s client.Schedule, in input) (any, error) {
				return nil, s.Resume(ctx, in["note"])
			}),
		},
		{
			of: &ofSchedule, name: "backfill", right: client.ActSchedule, title: "Backfill", answers: reflect.TypeFor[backfilled](),
			says: "The runs of a time in the past are started, one after the other.",
			fields: []field{
				{name: "from", kind: aTime, label: "From (UTC)", required: true}, {name: "to", kind: aTime, label: "To (UTC)", required: true},
			},
			do: on(func(ctx context.Context, s client.Schedule, in input) (any, error) {
				n, err := s.Backfill(ctx, in.time("from"), in.time("to"))
				return backfilled{n}, err
			}),
		},
		{
			of: &ofSchedule, name: "delete", right: client.ActSchedule, title: "Delete the schedule", danger: true,
			says: "The schedule ends. Its runs go on.",
			do:   on(func(ctx context.Context, s client.Schedule, _ input) (any, error) { return nil, s.Delete(ctx) }),
		},
	}
}

// presentSpec returns the specification of the schedule in the query.
func presentSpec(ctx context.Context, c *call) (input, error) {
	d, err := c.client.Schedule(c.param("id")).Describe(ctx)
	if err == nil && d.Revision == 0 {
		err = fmt.Errorf("schedule %q: %w: no node has run it yet: try again when one has", d.ID, client.ErrNoNode)
	}
	return specInput(&d.Spec), err
}

// backfilled is how many runs a backfill starts.
type backfilled struct {
	Runs int `json:"runs"`
}

// creationActs make schedules.
func creationActs() []act {
	fields := slices.Concat([]field{
		{name: "id", label: "ID", required: true},
		{name: "orchestration", label: "Orchestration", required: true},
		{name: "input", kind: aJSON, label: "Input", help: "JSON. Empty: null."},
		{name: "version", label: "Version", help: "Empty: the newest that a node has."},
	}, specFields(), []field{{name: "paused", kind: aBool, label: "Paused at first"}})
	return []act{{
		of: &ofSchedules, name: "create", right: client.ActSchedule, title: "Create a schedule", do: createSchedule, preview: true,
		says: "Runs of an orchestration start at the times of the schedule.", fields: fields,
	}}
}

// createSchedule stores a new schedule for a program.
func createSchedule(ctx context.Context, c *call, in input) (outcome, error) {
	var spec client.ScheduleSpec
	if err := in.applySpec(&spec); err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	var opts []client.ScheduleOption
	if in["version"] != "" {
		opts = append(opts, client.RunVersion(in["version"]))
	}
	if in.bool("paused") {
		opts = append(opts, client.CreatePaused(""))
	}
	_, err := client.CreateScheduleNamed(ctx, c.client, in["id"], spec, in["orchestration"], in.json("input"), opts...)
	return outcome{page: "/schedules"}, err
}
