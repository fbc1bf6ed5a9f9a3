package dashboard

import (
	"context"
	"net/url"
	"reflect"
	"strconv"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// deletionActs delete instances.
func deletionActs() []act {
	return []act{
		{
			of: &ofInstance, name: "delete", right: client.ActDelete, title: "Delete", danger: true, do: remove, answers: reflect.TypeFor[counted](),
			says:   "The instance is deleted with its history, its values and its children. Its ID is free again.",
			fields: []field{{name: "force", kind: aBool, label: "Also if it runs"}},
		},
		{
			of: &ofStore, name: "prune", right: client.ActPrune, title: "Delete old instances", danger: true, do: prune, answers: reflect.TypeFor[operate.Pruned](),
			says: "Instances that ended so long ago are deleted with their histories, the oldest first.", counts: &countable{rows: countPrune},
			fields: append(pruneFields(),
				field{name: "limit", kind: anInt, label: "At most", required: true, value: "1000", help: "Instances, 1 to 10,000."},
				field{name: "cursor", label: "Cursor", shown: true, help: "Of the answer before."}),
		},
		{
			of: &ofStore, name: "trim", right: client.ActPrune, title: "Delete old executions", danger: true, do: trim, answers: reflect.TypeFor[operate.Trimmed](),
			says:   "Executions that were left so long ago by instances that continue as new are deleted with their histories. The instances go on.",
			counts: &countable{rows: countTrim},
			fields: append(trimFields(),
				field{name: "limit", kind: anInt, label: "At most", required: true, value: "1000", help: "Executions, 1 to 10,000."},
				field{name: "cursor", label: "Cursor", shown: true, help: "Of the answer before."}),
		},
	}
}

func remove(ctx context.Context, c *call, in input) (outcome, error) {
	h, err := c.handle()
	if err != nil {
		return outcome{}, err
	}
	var opts []client.DeleteOption
	if in.bool("force") {
		opts = append(opts, client.Force())
	}
	n, err := h.Delete(ctx, opts...)
	return outcome{value: counted{n}, page: "/instances"}, err
}

// pruneFields select ended instances.
func pruneFields() []field {
	return []field{
		{name: "age", kind: aSpan, label: "Ended at least so long ago", required: true, value: "720h", help: "At least 24h."},
		{name: "names", kind: aList, label: "Orchestrations", help: "One a line. None: all."},
		{name: "statuses", kind: aList, label: "Statuses", help: "One a line, such as Completed. None: all."},
	}
}

// trimFields select executions of instances that continue as new.
func trimFields() []field {
	return []field{
		{name: "age", kind: aSpan, label: "Left at least so long ago", required: true, value: "720h", help: "At least 24h."},
		{name: "keep", kind: anInt, label: "Keep", value: "1", help: "Executions before the current one, 1 to 1,000. Empty: 1."},
	}
}

func (in input) pruning() operate.Pruning {
	p := operate.Pruning{Age: in.span("age"), Names: in.list("names"), Limit: in.int("limit"), Cursor: in["cursor"]}
	for _, s := range in.list("statuses") {
		p.Statuses = append(p.Statuses, client.Status(s))
	}
	return p
}

// trimming returns the executions that the fields select. The package operate allows any age, which this page does not.
func (in input) trimming() (operate.Trimming, error) {
	t := operate.Trimming{Age: in.span("age"), Keep: int(in.int("keep")), Limit: in.int("limit"), Cursor: in["cursor"]}
	if t.Age < operate.MinPruneAge {
		return t, badInput("age is %v: give at least %v", t.Age, operate.MinPruneAge)
	}
	return t, nil
}

func prune(ctx context.Context, c *call, in input) (outcome, error) {
	p := in.pruning()
	if p.Limit < 1 || p.Limit > countLimit {
		return outcome{}, badInput("limit is %d: give 1 to %d", p.Limit, countLimit)
	}
	done, err := operate.New(c.client).Prune(ctx, p)
	return outcome{value: done, page: in.again("/instances/prune", pruneFields(), done.Instances)}, err
}

func trim(ctx context.Context, c *call, in input) (outcome, error) {
	t, err := in.trimming()
	if err != nil {
		return outcome{}, err
	}
	if t.Limit < 1 || t.Limit > countLimit {
		return outcome{}, badInput("limit is %d: give 1 to %d", t.Limit, countLimit)
	}
	done, err := operate.New(c.client).Trim(ctx, t)
	return outcome{value: done, page: in.again("/instances/trim", trimFields(), done.Executions)}, err
}

// again returns the address of a form with the fields of what was done and how many have gone, for another one. It is an address, so that to read
// the page once more deletes nothing.
func (in input) again(path string, fields []field, gone int64) string {
	q := url.Values{goneParam: {strconv.FormatInt(gone, 10)}, "limit": {in["limit"]}}
	for i := range fields {
		if v := in[fields[i].name]; v != "" {
			q.Set(fields[i].name, v)
		}
	}
	return path + "?" + q.Encode()
}

func countPrune(ctx context.Context, c *call, in input) ([]counting, error) {
	n, err := operate.New(c.client).PreviewPrune(ctx, in.pruning())
	if err != nil {
		return nil, err
	}
	return []counting{{What: "Instances, children included", Counted: n}}, nil
}

func countTrim(ctx context.Context, c *call, in input) ([]counting, error) {
	t, err := in.trimming()
	if err != nil {
		return nil, err
	}
	n, err := operate.New(c.client).PreviewTrim(ctx, t)
	if err != nil {
		return nil, err
	}
	return []counting{{What: "Executions", Counted: n}}, nil
}
