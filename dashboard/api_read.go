package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

//nolint:gochecknoglobals // constant table
var (
	payloadsParam = field{name: "payloads", kind: aValue, choices: []string{"show"}, help: "Without it, payloads are left out."}
	sizeParam     = field{name: "size", kind: anInt, help: "Items on the page, 1 to 1,000."}
	cursorParam   = field{name: "cursor", help: "The cursor of the page before."}
	waitParam     = field{name: "wait", kind: aBool, help: "Wait up to 20 s."}
)

// filterParams are the parameters that filter instances.
func filterParams() []field {
	return []field{
		{name: "prefix", help: "Beginning of the ID."},
		{name: "orchestration", help: "Stored name."},
		{name: "status", kind: aValue, choices: statusNames(), help: "Any of them, if given several times."},
		{name: "version", help: "Version of the code. Any of them, if given several times. Empty: code without one."},
		{name: "blocked", kind: aBool},
		{name: "parent", help: "Key of the instance that started them as children."},
		{name: "createdAfter", kind: aTime, help: "Inclusive."},
		{name: "createdBefore", kind: aTime, help: "Exclusive."},
		{name: "endedAfter", kind: aTime, help: "Inclusive."},
		{name: "endedBefore", kind: aTime, help: "Exclusive."},
		{name: "attribute", help: "NAME=TEXT, NAME:int=NUMBER, NAME:bool=true or NAME:time=TIME. All of them, if given several times."},
		{name: "replaced", kind: aBool, help: "Also instances whose ID now names a newer one."},
		{name: "system", kind: aBool, help: "Also instances of perdure itself."},
	}
}

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
		get("/lookup", "Find the instance that an ID names now.", reflect.TypeFor[found](), (*call).apiLookup, field{name: "id", required: true}),
		get("/instances/{key}", "Describe an instance.", reflect.TypeFor[client.Description](), (*call).apiDescribe, payloadsParam),
		get("/instances/{key}/follow", "Wait up to 20 s until the description differs from the one of a mark.", reflect.TypeFor[followed](), (*call).apiFollow,
			field{name: "mark", help: "Of the last answer. Without it, the answer comes at once."}, payloadsParam),
		get("/instances/{key}/history", "Read events of an execution.", reflect.TypeFor[client.HistoryPage](), (*call).apiHistory,
			append(historyParams(), waitParam, payloadsParam)...),
		get("/instances/{key}/history/export", "Export the history of an execution with its payloads.", reflect.TypeFor[client.HistoryFile](),
			(*call).apiExport, field{name: "execution", kind: anInt}),
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
		get("/retention", "Read what the store removes by itself.", reflect.TypeFor[client.RetentionInfo](), (*call).apiRetention),
		get("/jobs", "List bulk jobs, newest first.", reflect.TypeFor[jobPage](), (*call).apiJobs, sizeParam, cursorParam),
		get("/jobs/preview", "Count the instances that a bulk job would act on.", reflect.TypeFor[client.BulkPreview](), (*call).apiPreview, filterParams()...),
		get("/jobs/failures", "List instances that a bulk job could not act on, at most 1,000.", reflect.TypeFor[list[client.BulkFailure]](), (*call).apiFailures,
			field{name: "id", required: true}),
		get("/queues", "List the queues of activities.", reflect.TypeFor[list[client.QueueInfo]](), (*call).apiQueues),
		get("/nodes", "List the nodes.", reflect.TypeFor[list[client.NodeInfo]](), (*call).apiNodes),
		get("/versions", "List the versions of code that run or are registered.", reflect.TypeFor[list[client.VersionUse]](), (*call).apiVersions,
			field{name: "orchestration"}),
		get("/patches", "Report the patches of running instances.", reflect.TypeFor[client.PatchReport](), (*call).apiPatches,
			field{name: "orchestration"}, field{name: "limit", kind: anInt, help: "Instances that are read at most, 1 to 10,000; default 1,000."}),
		get("/dead-letters", "List dead letters, the oldest first.", reflect.TypeFor[client.DeadLetterPage](), (*call).apiLetters,
			field{name: "instance", help: "ID."}, field{name: "key", help: "Of an instance."}, sizeParam, cursorParam, payloadsParam),
		get("/audit", "List the acts of principals, newest first.", reflect.TypeFor[client.AuditPage](), (*call).apiAudit, auditParams()...),
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
	f, err := c.filter()
	if err != nil {
		return err
	}
	page, err := c.page(100)
	if err != nil {
		return err
	}
	l, err := c.client.List(c.r.Context(), f, page)
	if err != nil {
		return err
	}
	return c.answer(l)
}

func (c *call) apiCount() error {
	f, err := c.filter()
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
	n, err := c.client.CountUpTo(c.r.Context(), f, most)
	if err != nil {
		return err
	}
	return c.answer(n)
}

func (c *call) apiLookup() error {
	h, err := client.Lookup[json.RawMessage](c.r.Context(), c.client, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(found{h.ID(), h.Key()})
}

func (c *call) apiDescribe() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, err := h.Describe(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(d)
}

func (c *call) apiFollow() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, mark, err := h.Follow(c.r.Context(), c.param("mark"), client.FollowFor(longPoll))
	if err != nil {
		return err
	}
	return c.answer(followed{d, mark})
}

// historyRange returns the events that the query asks for.
func (c *call) historyRange() (r client.HistoryRange, err error) {
	for name, n := range map[string]*int64{"execution": &r.Execution, "from": &r.From, "to": &r.To} {
		if *n, err = c.intParam(name); err != nil {
			return r, err
		}
	}
	most, err := c.intParam("max")
	r.Max = int(most)
	r.Newest, r.Failed = c.flag("newest"), c.flag("failed")
	for _, kind := range c.r.URL.Query()["kind"] {
		if kind != "" {
			r.Kinds = append(r.Kinds, kind)
		}
	}
	return r, err
}

func (c *call) apiHistory() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	r, err := c.historyRange()
	if err != nil {
		return err
	}
	if c.flag("wait") {
		r.Wait = longPoll
	}
	p, err := h.HistoryPage(c.r.Context(), r)
	if err != nil {
		return err
	}
	return c.answer(p)
}

// apiExport returns the history as it is stored. It has all payloads, so it needs them to be shown.
func (c *call) apiExport() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	if !c.texts || c.s.o.HidePayloads || c.s.o.Redact != nil {
		return refuse(http.StatusForbidden, "payloads", "an export has all payloads, and the dashboard hides or redacts them: use perdure history --export")
	}
	n, err := c.intParam("execution")
	if err != nil {
		return err
	}
	f, err := h.ExportHistory(c.r.Context(), n)
	if err != nil {
		return err
	}
	c.payloads = true
	return c.answer(f)
}

func (c *call) apiResult() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), longPoll)
	defer cancel()
	d, mark, err := h.Follow(ctx, "")
	for err == nil && c.flag("wait") && !d.Status.Ended() && ctx.Err() == nil {
		next, to, failed := h.Follow(ctx, mark)
		if failed != nil && ctx.Err() != nil {
			break
		}
		d, mark, err = next, to, failed
	}
	if err != nil {
		return err
	}
	return c.answer(result{d.Status, d.Status.Ended(), d.Result, d.Failure})
}

func (c *call) apiValue() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	name := c.param("name")
	v, err := client.Value[json.RawMessage](c.r.Context(), h, name)
	if err != nil {
		return err
	}
	return c.answer(answer{name, v})
}

// updateState is how far an update is, and its output if it has completed.
type updateState struct {
	ID     string             `json:"id"`
	Stage  client.UpdateStage `json:"stage"` // "Unknown": it is not there, or still waits in the inbox
	Output json.RawMessage    `json:"output,omitempty"`
}

const (
	updateCompleted client.UpdateStage = "Completed"
	updateNotSeen   client.UpdateStage = "Unknown"
	// soon is how long a request without the parameter wait may take for what it can only learn by waiting.
	soon = time.Second
)

func (c *call) apiUpdate() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, err := h.Describe(c.r.Context())
	if err != nil {
		return err
	}
	state, wait := updateState{ID: c.param("id"), Stage: updateNotSeen}, soon
	if c.flag("wait") {
		wait = longPoll
	}
	for _, u := range d.Updates {
		if u.ID == state.ID {
			state.Stage = u.Stage
		}
	}
	if state.Stage != updateNotSeen && !c.flag("wait") {
		return c.answer(state)
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	defer cancel()
	out, err := client.UpdateOf[json.RawMessage](h, state.ID).Wait(ctx)
	switch {
	case err == nil:
		state.Stage, state.Output = updateCompleted, out
	case ctx.Err() == nil || c.r.Context().Err() != nil:
		return err
	}
	return c.answer(state)
}

func (c *call) apiQueues() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	queues, err := c.client.Queues(ctx)
	if err != nil {
		return err
	}
	return c.answer(list[client.QueueInfo]{queues})
}

func (c *call) apiNodes() error {
	nodes, err := c.client.Nodes(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(list[client.NodeInfo]{nodes})
}

func (c *call) apiVersions() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), countTime)
	defer cancel()
	versions, err := c.client.Versions(ctx, c.param("orchestration"))
	if err != nil {
		return err
	}
	return c.answer(list[client.VersionUse]{versions})
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
	report, err := c.client.Patches(c.r.Context(), client.PatchScan{Orchestration: c.param("orchestration"), Limit: int(limit)})
	if err != nil {
		return err
	}
	return c.answer(report)
}

func (c *call) apiLetters() error {
	page, err := c.lettersPage()
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
func (c *call) auditPage() (none client.AuditPage, err error) {
	f := client.AuditFilter{Principal: c.param("principal"), Act: client.Act(c.param("act")), Instance: c.param("instance")}
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
	return c.client.Audit(c.r.Context(), f, page)
}

// lettersPage returns the dead letters that the query asks for.
func (c *call) lettersPage() (none client.DeadLetterPage, err error) {
	f := client.DeadLetterFilter{Instance: c.param("instance")}
	if key := c.param("key"); key != "" {
		if err := f.Key.UnmarshalText([]byte(key)); err != nil {
			return none, badInput("parameter key is %q: give the key of an instance", key)
		}
	}
	page, err := c.page(50)
	if err != nil {
		return none, err
	}
	return c.client.DeadLetterPage(c.r.Context(), f, page)
}
