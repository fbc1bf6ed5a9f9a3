package validations

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/provider"
)

// sliceCases checks the ownership of slices in requests and results.
func sliceCases() []testCase {
	const results = "Result slices belong to the caller."
	return []testCase{
		{name: "turns-are-the-callers", run: slicesOfTurns, rule: results},
		{name: "tasks-are-the-callers", run: slicesOfTasks, rule: results},
		{name: "results-are-the-callers", run: slicesOfResults, rule: results},
		{name: "requests-are-copied", run: slicesOfRequests, rule: "A provider does not keep or change a request's slices after it returned."},
	}
}

// beginDescribed makes an instance with an item in every slice.
func beginDescribed(t *trial, id string) provider.Instance {
	t.create(id, func(r *provider.CreateRequest) {
		r.Attributes = []provider.Attribute{
			{Name: "a", Kind: provider.AttributeText, Text: "stored"}, {Name: "b", Kind: provider.AttributeInt, Number: 7},
		}
	})
	u := t.fetchOne()
	req := commitOf(u, "started", "done")
	req.CustomStatus, req.Tasks = []byte("custom"), []provider.NewTask{newTask(1)}
	req.Values = []provider.KeyValue{{Key: "k", Value: []byte("value")}}
	t.commit(req)
	return t.get(u.Instance.Key)
}

// slicesOfTurns changes the results of fetches. A provider may build the later turn from its cached instance.
func slicesOfTurns(t *trial) {
	i := beginDescribed(t, "i")
	for range 4 {
		fetched := parkedFetch(t)
		t.send(i.Key, text("first"))
		list := fetched()
		t.mustf(len(list) == 1 && len(list[0].Messages) == 1, "got %d turns, want one with one message", len(list))
		u := list[0]
		got := fmt.Sprintf("%+v %s %s", u.Instance.Attributes, u.Instance.CustomStatus, u.payloads())
		want := fmt.Sprintf("%+v %s %s", i.Attributes, "custom", "first")
		t.checkf(got == want, "the caller's change of a turn reached the store: got %s, want %s", got, want)
		req := commitOf(u)
		scribble(&u.Turn)
		t.commit(req)
	}
}

func slicesOfTasks(t *trial) {
	beginDescribed(t, "i")
	failed := func(r *provider.TaskReport) { r.Details, r.Failure = []byte("details"), []byte("failure") }
	t.ok(t.report(t.fetchTask(), provider.TaskRetry, failed).Err)
	for range 3 {
		task := t.fetchTask()
		got := fmt.Sprintf("%s %s %s", task.Payload, task.Details, task.Failure)
		t.checkf(got == "task1 details failure", "the caller's change of a task reached the store: %s, want task1 details failure", got)
		scribble(&task.LeasedTask)
		t.ok(t.report(task, provider.TaskRetry, failed).Err)
	}
}

// slicesOfResults reads everything, changes the results, and reads it again.
func slicesOfResults(t *trial) {
	i := beginDescribed(t, "i")
	dead := t.begin("dead")
	t.send(dead.Key, text("lost"))
	t.end(dead)
	t.record(put("k", "one", 0))
	changed(t, "Get", func() (provider.GetResult, error) {
		return t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true})
	})
	changed(t, "Get of an ended instance", func() (provider.GetResult, error) {
		return t.Get(t.ctx, provider.GetRequest{ID: "dead", WaitEnded: true, Wait: patience})
	})
	changed(t, "Create", func() (provider.CreateResult, error) {
		req := createRequest("i")
		req.Policy = provider.IDUseExisting
		return t.Create(t.ctx, req)
	})
	changed(t, "List", func() (provider.ListResult, error) { return t.List(t.ctx, provider.ListRequest{}) })
	changed(t, "ReadHistory", func() (provider.ReadHistoryResult, error) {
		return t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, From: 1})
	})
	changed(t, "DeadLetters", func() (provider.DeadLettersResult, error) {
		return t.DeadLetters(t.ctx, provider.DeadLettersRequest{})
	})
	changed(t, "Record", func() (provider.RecordResult, error) {
		return t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	})
}

// changed makes a call, changes its result, and checks that the call returns the same again.
func changed[T any](t *trial, what string, call func() (T, error)) {
	res, err := call()
	t.ok(err)
	want := picture(t, res)
	extend(reflect.ValueOf(&res).Elem())
	t.checkf(picture(t, res) == want, "%s: appending to one slice of the result changed another, want slices without shared capacity", what)
	scribble(&res)
	again, err := call()
	t.ok(err)
	got := picture(t, again)
	t.checkf(got == want, "%s: the caller's change of a result reached the store:\n got %s\nwant %s", what, got, want)
}

// slicesOfRequests overwrites each request's slices after the call has returned.
func slicesOfRequests(t *trial) {
	create := createRequest("i")
	create.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "stored"}}
	_, err := t.Create(t.ctx, create)
	t.ok(err)
	scribble(&create)
	u := t.fetchOne()
	t.checkf(u.payloads() == "start", "Create: the caller's change of its request reached the store: %q, want \"start\"", u.payloads())
	commit := commitOf(u, "one", "two")
	commit.Tasks, commit.CustomStatus = []provider.NewTask{newTask(1)}, []byte("custom")
	commit.Values = []provider.KeyValue{{Key: "k", Value: []byte("value")}}
	t.commit(commit)
	scribble(&commit)
	t.historyIs(u.Instance.Key, 0, "1:one 2:two")
	checkValues(t, u.Instance.Key, "k=value")
	i := t.get(u.Instance.Key)
	t.checkf(string(i.CustomStatus) == "custom" && len(i.Attributes) == 1 && i.Attributes[0].Text == "stored",
		"the caller's change of its request reached the store: %+v", i)
	task := t.fetchTask()
	t.checkf(string(task.Payload) == "task1", "CommitTurn: the caller's change of its request reached the store: task payload %q, want \"task1\"", task.Payload)
	report := provider.ReportTasksRequest{Items: []provider.TaskReport{
		{TaskRef: task.TaskRef, Token: task.token, Attempt: task.Attempt, Outcome: provider.TaskComplete, Message: text("result")},
	}}
	_, err = t.ReportTasks(t.ctx, report)
	t.ok(err)
	scribble(&report)
	u = t.fetchOne()
	t.checkf(u.payloads() == "result", "ReportTasks: the caller's change of its request reached the store: %q, want \"result\"", u.payloads())
	record := put("k", "one", 0)
	t.record(record)
	scribble(&record)
	got := t.record(provider.RecordRequest{Action: provider.RecordGet, Namespace: "n", Key: "k"})
	t.checkf(len(got) == 1 && string(got[0].Value) == "one", "Record: the caller's change of its request reached the store: %+v, want the value one", got)
}

// picture describes a result, without the time of the call, for comparison.
func picture[T any](t *trial, result T) string {
	if now := reflect.ValueOf(&result).Elem().FieldByName("Now"); now.IsValid() {
		now.SetZero()
	}
	text, err := json.Marshal(result)
	t.ok(err)
	return string(text)
}

// extend appends to all slices of a value, as their owner may. The value keeps its lengths.
func extend(v reflect.Value) {
	each(v, func(list reflect.Value) {
		if list.Cap() > list.Len() {
			overwrite(list.Slice3(list.Len(), list.Len()+1, list.Cap()).Index(0))
		}
	})
}

// scribble overwrites the elements of all slices in value.
func scribble(value any) {
	var lists []reflect.Value
	each(reflect.ValueOf(value).Elem(), func(list reflect.Value) { lists = append(lists, list) })
	for _, list := range slices.Backward(lists) { // inner slices first
		for n := range list.Len() {
			overwrite(list.Index(n))
		}
	}
}

// each visits the slices of a value, outer ones first.
func each(v reflect.Value, visit func(list reflect.Value)) {
	switch v.Kind() { //nolint:exhaustive // nothing else in a result holds slices
	case reflect.Struct:
		for _, field := range v.Fields() {
			each(field, visit)
		}
	case reflect.Slice:
		visit(v)
		for n := range v.Len() {
			each(v.Index(n), visit)
		}
	}
}

// overwrite changes an element of a slice. An element that holds slices loses them.
func overwrite(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // what there is in the elements of results
	case reflect.Uint8:
		v.SetUint(v.Uint() ^ 0x20) // a letter stays a letter
	case reflect.Struct:
		for _, field := range v.Fields() {
			overwrite(field)
		}
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		v.SetZero()
	}
}
