package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

//nolint:gochecknoglobals // constant table
var (
	payloadsParam = field{name: "payloads", kind: aValue, choices: []string{"show"}, help: "Without it, payloads are left out."}
	sizeParam     = field{name: "size", kind: anInt, help: "Items on the page, 1 to 1,000."}
	cursorParam   = field{name: "cursor", help: "The cursor of the page before."}
	waitParam     = field{name: "wait", kind: aBool, help: "Wait up to 20 s."}
)

// found names an instance.
type found struct {
	ID  string        `json:"id"`
	Key provider.UUID `json:"key"`
}

// followed is a description with its mark.
type followed struct {
	client.Description

	Mark string `json:"mark"`
}

// result is how an instance has ended.
type result struct {
	Status  client.Status   `json:"status"`
	Ended   bool            `json:"ended"`
	Output  json.RawMessage `json:"output,omitempty"`
	Failure *client.Failure `json:"failure,omitempty"`
}

// list wraps what the client returns as a slice.
type list[T any] struct {
	Items []T `json:"items"`
}

func get(pattern, summary string, answers reflect.Type, serve func(*call) error, query ...field) route {
	return route{
		method: http.MethodGet, pattern: apiPath + pattern, right: client.ActView, serve: serve, api: &endpoint{summary: summary, query: query, answers: answers},
	}
}

// endpoints returns the routes of the API.
func endpoints() []route {
	all := acts()
	table := make([]route, 0, pageRoutes+len(all))
	table = append(table, []route{
		{method: http.MethodGet, pattern: apiPath + "/openapi.json", serve: (*call).openAPI, api: &endpoint{summary: "This document."}},
		get("/instances", "List instances, newest first.", reflect.TypeFor[client.Instances](), (*call).apiList,
			append(filterParams(), sizeParam, cursorParam, payloadsParam)...),
		get("/instances/count", "Count instances, up to a limit.", reflect.TypeFor[client.Counted](), (*call).apiCount,
			append(filterParams(), field{name: "max", kind: anInt, help: "How far to count, 1 to 10,000; default 10,000."})...),
		get("/instances/prune/preview", "Count what a prune would delete, up to 10,000 instances.", reflect.TypeFor[client.Counted](),
			(*call).apiCountPrune, pruneFields()...),
		get("/instances/trim/preview", "Count what a trim would delete, up to 10,000 executions.", reflect.TypeFor[client.Counted](),
			(*call).apiCountTrim, trimFields()...),
		get("/lookup", "Find the instance that an ID names now.", reflect.TypeFor[found](), (*call).apiLookup, field{name: "id", required: true}),
		get("/instances/{key}", "Describe an instance.", reflect.TypeFor[client.Description](), (*call).apiDescribe, payloadsParam),
		get("/instances/{key}/follow", "Wait up to 20 s until the description differs from the one of a mark.", reflect.TypeFor[followed](), (*call).apiFollow,
			field{name: "mark", help: "Of the last answer. Without it, the answer comes at once."}, payloadsParam),
		get("/instances/{key}/history", "Read events of an execution.", reflect.TypeFor[client.HistoryPage](), (*call).apiHistory,
			append(historyParams(), waitParam, payloadsParam)...),
		get("/instances/{key}/history/export", "Export the history of an execution with its payloads.", reflect.TypeFor[client.HistoryFile](),
			(*call).apiExport, field{name: "execution", kind: anInt}),
		get("/instances/{key}/point", "Find where to reset or fork in the current execution, and what is lost and runs again there. Nothing is changed.",
			reflect.TypeFor[client.Point](), (*call).apiPoint,
			field{name: "to", required: true, help: "first-failure or last-failure of an activity, patch=ID, event=N, or time=2026-01-02T03:04:05Z."}),
		get("/instances/{key}/result", "Read how an instance has ended.", reflect.TypeFor[result](), (*call).apiResult, waitParam, payloadsParam),
		get("/instances/{key}/value", "Read a value that the code has set.", reflect.TypeFor[answer](), (*call).apiValue,
			field{name: "name", required: true}, payloadsParam),
		get("/instances/{key}/update", "Read the outcome of an update by its ID. An update that failed is an error.", reflect.TypeFor[updateState](),
			(*call).apiUpdate, field{name: "id", required: true}, waitParam, payloadsParam),
		get("/instances/{key}/tree", "Read an instance with its children, three levels deep.", reflect.TypeFor[client.TreeNode](), (*call).apiTree, payloadsParam),
		get("/instances/{key}/waits", "Read what an instance waits for.", reflect.TypeFor[list[client.Wait]](), (*call).apiWaits),
		get("/schedules", "List schedules.", reflect.TypeFor[client.SchedulePage](), (*call).apiSchedules,
			field{name: "prefix", help: "Beginning of the ID."}, sizeParam, cursorParam),
		get("/schedule", "Describe a schedule.", reflect.TypeFor[client.ScheduleDescription](), (*call).apiSchedule, field{name: "id", required: true}),
		get("/schedules/next", "Preview the due times of a specification, without its jitter.", reflect.TypeFor[dueTimes](), (*call).apiNext,
			append(specFields(), field{name: "after", kind: aTime, help: "Default: now."}, field{name: "n", kind: anInt, help: "1 to 1,000; default 10."})...),
		get("/retention", "Read what the store removes by itself.", reflect.TypeFor[operate.RetentionInfo](), (*call).apiRetention),
		get("/retention/preview", "Count what a round by these rules would remove, each up to 10,000. Without rules, trim and audit: by those that are set.",
			reflect.TypeFor[operate.RetentionPreview](), (*call).apiCountRetention, ruleFields()...),
		get("/jobs", "List bulk jobs, newest first.", reflect.TypeFor[jobPage](), (*call).apiJobs, sizeParam, cursorParam),
		get("/jobs/preview", "Count the instances that a bulk job would act on.", reflect.TypeFor[operate.BulkPreview](), (*call).apiPreview,
			append(filterParams(), field{name: "to", help: "Of reset and fork: also count the newest instances without this kind of point, such as last-failure."})...),
		get("/jobs/failures", "List instances that a bulk job could not act on, at most 1,000.", reflect.TypeFor[list[operate.BulkFailure]](), (*call).apiFailures,
			field{name: "id", required: true}),
		get("/failures", "List groups of the newest 5,000 failed instances. Refused where payloads are hidden.", reflect.TypeFor[client.FailureGroups](),
			(*call).apiFailureGroups, field{name: "group", help: "Only this group, with its different texts."}, field{name: "orchestration", help: "Stored name."},
			field{name: "endedAfter", kind: aTime, help: "Inclusive."}, sizeParam),
		get("/activities", "List pending activities of all instances.", reflect.TypeFor[client.Activities](), (*call).apiActivities,
			field{name: "retrying", kind: aBool, help: "Only those that are tried again."}, field{name: "queue"}, field{name: "name", help: "Of the activity."},
			sizeParam, cursorParam, payloadsParam),
		get("/queues", "List the queues of activities.", reflect.TypeFor[list[operate.QueueInfo]](), (*call).apiQueues),
		get("/figures", "Read what nodes did over time, by themselves.", reflect.TypeFor[client.Figures](), (*call).apiFigures,
			field{name: "window", kind: aValue, choices: []string{"hour", "day", "week"}, help: "Default: hour."}),
		get("/incident", "Read at once what changed, fails, retries, is blocked and waits. Groups of failures are left out where payloads are hidden.",
			reflect.TypeFor[operate.Incident](), (*call).apiIncident),
		get("/nodes", "List the nodes.", reflect.TypeFor[list[operate.NodeInfo]](), (*call).apiNodes),
		get("/versions", "List the versions of code that run or are registered.", reflect.TypeFor[list[operate.VersionUse]](), (*call).apiVersions,
			field{name: "orchestration"}),
		get("/patches", "Report the patches of running instances.", reflect.TypeFor[operate.PatchReport](), (*call).apiPatches,
			field{name: "orchestration"}, field{name: "limit", kind: anInt, help: "Instances that are read at most, 1 to 10,000; default 1,000."}),
		get("/dead-letters", "List dead letters, the oldest first.", reflect.TypeFor[operate.DeadLetterPage](), (*call).apiDeadLetters,
			field{name: "instance", help: "ID."}, field{name: "key", help: "Of an instance."}, sizeParam, cursorParam, payloadsParam),
		get("/audit", "List the acts of principals, newest first.", reflect.TypeFor[operate.AuditPage](), (*call).apiAudit, auditParams()...),
	}...)
	for i := range all {
		a := &all[i]
		table = append(table, route{
			method: http.MethodPost, pattern: apiPath + a.path(), right: a.right, serve: a.call,
			api: &endpoint{summary: a.title + ". " + a.says, query: a.of.params, body: a.fields, answers: a.answers},
		})
	}
	return table
}

func historyParams() []field {
	return []field{
		{name: "execution", kind: anInt, help: "0: the current one."},
		{name: "from", kind: anInt},
		{name: "to", kind: anInt},
		{name: "newest", kind: aBool, help: "Begin with the latest event."},
		{name: "kind", kind: aValue, choices: client.HistoryKinds(), help: "Any of them, if given several times."},
		{name: "failed", kind: aBool, help: "Only events that hold a failure."},
		{name: "max", kind: anInt, help: "Events on the page, 1 to 1,000; default 100."},
	}
}

func auditParams() []field {
	return []field{
		{name: "principal"},
		{name: "act"},
		{name: "instance", help: "ID."},
		{name: "key", help: "Of an instance."},
		{name: "after", kind: aTime},
		{name: "before", kind: aTime},
		sizeParam, cursorParam,
	}
}

func (c *call) apiList() error {
	s, err := c.selects()
	if err != nil {
		return err
	}
	page, err := c.page(100)
	if err != nil {
		return err
	}
	l, err := s.list(c, page)
	if err != nil {
		return err
	}
	return c.answer(l)
}

func (c *call) apiCount() error {
	s, err := c.selects()
	if err != nil {
		return err
	}
	most, err := c.intParam("max")
	if err != nil {
		return err
	}
	if most == 0 {
		most = countLimit
	}
	if most < 1 || most > countLimit {
		return badInput("parameter max is %d: give 1 to %d", most, countLimit)
	}
	n, err := s.count(c, most)
	if err != nil {
		return err
	}
	return c.answer(n)
}

func (c *call) apiQueues() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	queues, err := operate.New(c.client).Queues(ctx)
	if err != nil {
		return err
	}
	return c.answer(list[operate.QueueInfo]{queues})
}

func (c *call) apiFigures() error {
	f, err := c.figures(c.r.Context(), c.window())
	if err != nil {
		return err
	}
	return c.answer(f)
}

func (c *call) apiNodes() error {
	nodes, err := operate.New(c.client).Nodes(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(list[operate.NodeInfo]{nodes})
}

func (c *call) apiVersions() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	versions, err := operate.New(c.client).Versions(ctx, c.param("orchestration"))
	if err != nil {
		return err
	}
	return c.answer(list[operate.VersionUse]{versions})
}

func (c *call) apiPatches() error {
	limit, err := c.intParam("limit")
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = 1000
	}
	if limit < 1 || limit > countLimit {
		return badInput("parameter limit is %d: give 1 to %d", limit, countLimit)
	}
	report, err := operate.New(c.client).Patches(c.r.Context(), operate.PatchScan{Orchestration: c.param("orchestration"), Limit: int(limit)})
	if err != nil {
		return err
	}
	return c.answer(report)
}

func (c *call) apiDeadLetters() error {
	page, err := c.deadLettersPage()
	if err != nil {
		return err
	}
	return c.answer(page)
}

func (c *call) apiAudit() error {
	page, err := c.auditPage()
	if err != nil {
		return err
	}
	return c.answer(page)
}

// auditPage returns the acts that the query asks for.
func (c *call) auditPage() (none operate.AuditPage, err error) {
	f := operate.AuditFilter{Principal: c.param("principal"), Act: client.Act(c.param("act")), Instance: c.param("instance")}
	if key := c.param("key"); key != "" {
		if err := f.Key.UnmarshalText([]byte(key)); err != nil {
			return none, badInput("parameter key is %q: give the key of an instance", key)
		}
	}
	if f.After, err = c.timeParam("after"); err != nil {
		return none, err
	}
	if f.Before, err = c.timeParam("before"); err != nil {
		return none, err
	}
	page, err := c.page(100)
	if err != nil {
		return none, err
	}
	return operate.New(c.client).Audit(c.r.Context(), f, page)
}

// deadLettersPage returns the dead letters that the query asks for.
func (c *call) deadLettersPage() (none operate.DeadLetterPage, err error) {
	f := operate.DeadLetterFilter{Instance: c.param("instance")}
	if key := c.param("key"); key != "" {
		if err := f.Key.UnmarshalText([]byte(key)); err != nil {
			return none, badInput("parameter key is %q: give the key of an instance", key)
		}
	}
	page, err := c.page(50)
	if err != nil {
		return none, err
	}
	return operate.New(c.client).DeadLetterPage(c.r.Context(), f, page)
}
