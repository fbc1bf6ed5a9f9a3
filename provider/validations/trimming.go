package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// trimCases checks an optional feature. The suite skips the cases of a provider without it.
func trimCases() []testCase {
	const (
		trims = "Trim removes up to Max executions that ended before a given age, with their histories, and returns how many."
		keeps = "It never removes the current execution of an instance, nor the Keep executions before it."
	)
	return needs(lacking[provider.Trimmer], []testCase{
		{name: "trim", run: trimOld, rule: trims},
		{name: "trim-keeps", run: trimKeeps, rule: keeps},
		{name: "trim-ended", run: trimEnded, rule: keeps},
		{name: "trim-young", run: trimYoung, rule: trims},
		{name: "trim-order", run: trimOrder, rule: "No execution goes before an older one of its instance."},
		{name: "trim-gone", run: trimGone, rule: "A removed execution reads as one that never existed."},
		{name: "trim-look", run: trimLook, rule: "Found has those that it would remove, Executions counts them, and Cursor continues behind them."},
		{name: "trim-cursor", run: trimCursor, rule: "A call with its Cursor continues there."},
	})
}

// trim makes calls of Trim until it has looked at everything, and returns how many executions were removed.
func (t *trial) trim(req provider.TrimRequest) (gone int64) {
	for {
		res, err := t.trimOnce(req)
		t.ok(err)
		gone += res.Executions
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return gone
		}
	}
}

func (t *trial) trimOnce(req provider.TrimRequest) (provider.TrimResult, error) {
	trimmer, _ := provider.As[provider.Trimmer](t.trace.note("Trim"))
	return trimmer.Trim(t.ctx, req)
}

// renewed begins an instance and lets it continue as new n times.
func (t *trial) renewed(id string, n int) provider.Instance {
	i := t.begin(id)
	for range n {
		i = t.continueAsNew(i)
		t.pass(blink)
	}
	return i
}

// executionsAre checks which executions of an instance can be read, of the first six.
func (t *trial) executionsAre(key provider.UUID, want string) {
	var got []byte
	for n := range int64(6) {
		if _, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: key, Execution: n + 1, From: 1}); err == nil {
			got = fmt.Append(got, n+1, " ")
		} else {
			t.want(err, provider.ErrNotFound)
		}
	}
	t.checkf(string(got) == want, "executions %sof the instance are there, want %s", got, want)
}

func trimOld(t *trial) {
	i, other := t.renewed("i", 4), t.renewed("other", 1)
	is(t, "executions trimmed with Max 1", trimmedBy(t, provider.TrimRequest{Max: 1}), 1)
	t.executionsAre(i.Key, "2 3 4 5 ")
	is(t, "executions trimmed without Max", trimmedBy(t, provider.TrimRequest{}), 2)
	t.executionsAre(i.Key, "4 5 ")
	t.executionsAre(other.Key, "1 2 ")
	is(t, "executions trimmed again", t.trim(provider.TrimRequest{}), 0)
	got := t.get(i.Key)
	t.checkf(got.Version == i.Version && got.Execution == 5, "the instance is %+v, want it as it was", got)
	t.historyIs(i.Key, 5, "1:again")
}

// trimmedBy returns what one call removed.
func trimmedBy(t *trial, req provider.TrimRequest) int64 {
	res, err := t.trimOnce(req)
	t.ok(err)
	return res.Executions
}

func trimKeeps(t *trial) {
	i := t.renewed("i", 5)
	is(t, "executions trimmed with Keep 6", t.trim(provider.TrimRequest{Keep: 6}), 0)
	is(t, "executions trimmed with Keep 4", t.trim(provider.TrimRequest{Keep: 4}), 1)
	t.executionsAre(i.Key, "2 3 4 5 6 ")
	is(t, "executions trimmed with Keep 1", t.trim(provider.TrimRequest{Keep: 1}), 3)
	t.executionsAre(i.Key, "5 6 ")
	_, err := t.trimOnce(provider.TrimRequest{Keep: -1})
	t.want(err, provider.ErrInvalid)
}

func trimEnded(t *trial) {
	i := t.renewed("i", 3)
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "executions trimmed", t.trim(provider.TrimRequest{}), 2)
	t.executionsAre(i.Key, "3 4 ")
	is(t, "the status", t.get(i.Key).Status, provider.StatusTerminated)
}

func trimYoung(t *trial) {
	i := t.renewed("i", 3)
	is(t, "young executions trimmed", t.trim(provider.TrimRequest{Age: long}), 0)
	t.executionsAre(i.Key, "1 2 3 4 ")
}

// Executions that a reset has left are like others.
func trimOrder(t *trial) {
	i := t.renewed("i", 2)
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	t.pass(short)
	i = t.get(i.Key)
	i = t.continueAsNew(i)
	is(t, "executions trimmed with Max 2", trimmedBy(t, provider.TrimRequest{Max: 2}), 2)
	t.executionsAre(i.Key, "3 4 5 ")
}

func trimGone(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	i = t.continueAsNew(i)
	i = t.continueAsNew(i)
	is(t, "executions trimmed", t.trim(provider.TrimRequest{}), 1)
	_, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 1, From: 1})
	t.want(err, provider.ErrNotFound)
	is(t, "the state of a trimmed execution", t.renew(renewal(task)).State.Kind, provider.ExecutionMissing)
	t.remove(i.Key, true)
	is(t, "executions trimmed after the end", t.trim(provider.TrimRequest{}), 0)
}

func trimCursor(t *trial) {
	for n := range 4 {
		t.renewed(fmt.Sprint("i", n), 3)
	}
	req := provider.TrimRequest{Max: 3}
	gone := int64(0)
	for calls := 1; ; calls++ {
		t.mustf(calls < 20, "the Cursor has no end")
		res, err := t.trimOnce(req)
		t.ok(err)
		t.mustf(res.Executions <= 3, "%d executions trimmed by one call, want at most 3", res.Executions)
		gone += res.Executions
		if req.Cursor = res.Cursor; req.Cursor == "" {
			break
		}
	}
	is(t, "executions trimmed", gone, 8)
	_, err := t.trimOnce(provider.TrimRequest{Cursor: "no cursor"})
	t.want(err, provider.ErrInvalid)
}

// trimLook looks at executions and then removes them.
func trimLook(t *trial) {
	i := t.renewed("i", 4)
	of := func(n int64) provider.OldExecution { return provider.OldExecution{Key: i.Key, Execution: n} }
	look := func(req provider.TrimRequest, want ...provider.OldExecution) provider.TrimResult {
		req.Look = true
		res, err := t.trimOnce(req)
		t.ok(err)
		is(t, fmt.Sprintf("executions of %+v", req), fmt.Sprint(res.Found), fmt.Sprint(want))
		is(t, "executions that would go", res.Executions, int64(len(want)))
		return res
	}
	look(provider.TrimRequest{}, of(1), of(2), of(3))
	look(provider.TrimRequest{Age: long})
	first := look(provider.TrimRequest{Max: 2}, of(1), of(2))
	look(provider.TrimRequest{Cursor: first.Cursor}, of(3))
	t.executionsAre(i.Key, "1 2 3 4 5 ")
	res, err := t.trimOnce(provider.TrimRequest{Max: 2})
	t.ok(err)
	is(t, "executions trimmed", res.Executions, 2)
	is(t, "executions found without Look", len(res.Found), 0)
	t.executionsAre(i.Key, "3 4 5 ")
	look(provider.TrimRequest{Cursor: first.Cursor}, of(3))
}
