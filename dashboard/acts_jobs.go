package dashboard

import (
	"context"
	"reflect"
	"strconv"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/operate"
)

// counted is how many instances an act was about, children included.
type counted struct {
	Instances int64 `json:"instances"`
}

// jobActs are acts on many instances, and on the jobs that do them.
func jobActs() []act {
	on := func(do func(context.Context, operate.Bulk) error) func(context.Context, *call, input) (outcome, error) {
		return func(ctx context.Context, c *call, _ input) (outcome, error) {
			job, err := operate.New(c.client).Bulk(ctx, c.param("id"))
			if err != nil {
				return outcome{}, err
			}
			return outcome{}, do(ctx, job)
		}
	}
	names := make([]string, 0, len(operate.BulkActs()))
	for _, a := range operate.BulkActs() {
		names = append(names, string(a))
	}
	return []act{
		{
			of: &ofJobs, name: "start", right: client.ActBulk, title: "Act on many instances", danger: true, do: startJob, answers: reflect.TypeFor[operate.BulkInfo](),
			says: "A job does the act on the instances that the filter selects, one after the other. " +
				"It leaves out instances created after the count, and stops at it.",
			fields: []field{
				{name: "act", kind: aValue, label: "Act", choices: names, value: "cancel", required: true},
				{name: "filter", label: "Filter", shown: true, help: "As the query of the list of instances, such as status=Running&orchestration=Order."},
				{name: "before", kind: aTime, label: "Created before", shown: true, help: "The time of the preview."},
				{name: "max", kind: anInt, label: "How many", required: true, confirms: true, help: "Type the number of instances that were counted."},
				{name: "text", label: "Only with this text", help: "For a group of failures: one of the texts of the preview, in double quotes or as it is."},
				{name: "allTexts", kind: aBool, label: "With any text", confirms: true, help: "For a group of failures, instead of one text."},
				{name: "rate", label: "Instances a second", help: "Empty: as fast as they go. Retry-now needs it: activities a second."},
				reasonField,
				{name: "event", label: "Event", help: "For raise."},
				{name: "payload", kind: aJSON, label: "Payload", help: "For raise. JSON."},
				{name: "version", label: "Version", help: "For move."},
				{name: "force", kind: aBool, label: "Also those that run", help: "For delete."},
				{name: "point", kind: anInt, label: "Event number", help: "For reset and fork: each new history begins to differ before it. 1 is the beginning."},
				{
					name: "to", label: "Or find the event of each",
					help: "For reset and fork: first-failure, last-failure, patch=ID, event=N, or time=2026-01-02T03:04:05Z. " +
						"Instances without it are skipped. The page counts them first.",
				},
				{name: "dropLater", kind: aBool, label: "Forget later events", help: "For reset."},
				{name: "prefix", label: "Prefix of the new IDs", help: "For fork."},
			},
		},
		{
			of: &ofJob, name: "stop", right: client.ActBulk, title: "Stop the job",
			says: "The job stops after the instance that it acts on. It can be resumed within 30 days.",
			do:   on(func(ctx context.Context, b operate.Bulk) error { return b.Stop(ctx) }),
		},
		{
			of: &ofJob, name: "resume", right: client.ActBulk, title: "Resume the job", says: "The job goes on where it stopped.",
			do: on(func(ctx context.Context, b operate.Bulk) error { return b.Resume(ctx) }),
		},
	}
}

func startJob(ctx context.Context, c *call, in input) (outcome, error) {
	f, err := c.parseFilter(in["filter"]) //nolint:contextcheck // a call has the context of its request
	if err != nil {
		return outcome{}, err
	}
	text, err := bulk.ParseText(in["text"])
	if err != nil {
		return outcome{}, badInput("text: %v", err)
	}
	j := operate.BulkJob{
		Act: client.Act(in["act"]), Filter: f, Before: in.time("before"), Max: in.int("max"), Reason: in["reason"], Event: in["event"],
		Version: in["version"], Force: in.bool("force"), Point: in.int("point"), DropLater: in.bool("dropLater"), Prefix: in["prefix"],
		Text: text, AllTexts: in.bool("allTexts"),
	}
	if in["to"] != "" {
		if j.To, err = client.ParsePointKind(in["to"]); err != nil {
			return outcome{}, badInput("to: %v", err)
		}
	}
	if in["payload"] != "" {
		j.Payload = in.json("payload")
	}
	if in["rate"] != "" {
		if j.Rate, err = strconv.ParseFloat(in["rate"], 64); err != nil {
			return outcome{}, badInput("rate is %q: give a number", in["rate"])
		}
	}
	job, err := operate.New(c.client).StartBulk(ctx, j)
	if err != nil {
		return outcome{}, err
	}
	d, err := job.Describe(ctx)
	return outcome{value: d}, err
}
