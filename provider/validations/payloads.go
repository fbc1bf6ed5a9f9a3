package validations

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

// payloadCases sends bytes that a store might corrupt through every opaque field.
func payloadCases() []testCase {
	const opaque = "A provider never looks inside an event, a message or a payload."
	return []testCase{
		{name: "of-creates-and-sends", run: payloadSends, rule: opaque},
		{name: "of-commits", run: payloadCommits, rule: opaque},
		{name: "of-results", run: payloadResults, rule: opaque},
		{name: "of-tasks", run: payloadTasks, rule: opaque},
		{name: "of-steering", run: payloadSteers, rule: opaque},
		{name: "of-questions", run: payloadAsks, rule: opaque},
		{name: "of-records", run: payloadRecords, rule: opaque},
		{name: "of-dead-letters", run: payloadLetters, rule: opaque},
	}
}

func failurePayloads() []testCase {
	return []testCase{
		{name: "any-failure", run: payloadFailures, rule: "Message may be any bytes, even invalid UTF-8. They are kept as they are."},
	}
}

// payloadEdges are an empty payload, a NUL, invalid UTF-8, quotes, and 2 MiB of all bytes.
func payloadEdges() []string {
	var all strings.Builder
	for n := range 256 {
		all.WriteByte(byte(n))
	}
	return []string{"", "\x00", "a\x00b", "\xff\xfe\xc3(", `'";--\`, strings.Repeat(all.String(), 2<<20/256)}
}

// consumeOnly waits for a turn with one message, consumes the message and returns its payload.
func consumeOnly(t *trial, changes ...func(*provider.FetchTurnsRequest)) []byte {
	u := t.fetchOne(changes...)
	t.mustf(len(u.Messages) == 1, "%d messages, want 1", len(u.Messages))
	t.commit(commitOf(u, "seen"))
	return u.Messages[0].Payload
}

func payloadSends(t *trial) {
	for _, edge := range payloadEdges() {
		i := t.create(fresh(), func(r *provider.CreateRequest) { r.Message.Payload = []byte(edge) })
		checkBytes(t, "start message", consumeOnly(t), edge)
		t.send(i.Key, text(edge))
		checkBytes(t, "message", consumeOnly(t), edge)
	}
}

func payloadCommits(t *trial) {
	for _, edge := range payloadEdges() {
		bytes := []byte(edge)
		id := fresh()
		to, i := t.begin("to-"+id), t.begin(id)
		req := next(i, edge)
		child := startOf(i, "child-"+id)
		child.Create.Message.Payload = bytes
		refused := text(edge)
		req.Starts = []provider.Start{child}
		req.Sends = []provider.OutMessage{{Key: to.Key, Message: text(edge)}, {ID: "nobody", Refused: &refused}}
		req.Timers = []provider.Timer{{EventID: 9, Due: 1, Payload: bytes}}
		req.Values = []provider.KeyValue{{Key: "k", Value: bytes}}
		req.CustomStatus = bytes
		t.commit(req)
		checkBytes(t, "message to another", consumeOnly(t, named("to-"+id)), edge)
		checkBytes(t, "start message of a child", consumeOnly(t), edge)
		u := t.fetchOne(named(id))
		t.mustf(len(u.Messages) == 2, "%d messages, want 2: a timer and a refusal", len(u.Messages))
		checkBytes(t, "timer", u.Messages[0].Payload, edge)
		checkBytes(t, "refusal", u.Messages[1].Payload, edge)
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithValues: true})
		t.ok(err)
		checkBytes(t, "custom status", res.Instance.CustomStatus, edge)
		t.mustf(len(res.Values) == 1, "%d values, want 1", len(res.Values))
		checkBytes(t, "value", res.Values[0].Value, edge)
		checkBytes(t, "event", lastEvent(t, i.Key), edge)
	}
}

// lastEvent returns the last event of the current execution.
func lastEvent(t *trial, key provider.UUID) []byte {
	res, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: key, From: t.get(key).HistoryLength})
	t.ok(err)
	t.mustf(len(res.Events) == 1, "got %d events, want the last one", len(res.Events))
	return res.Events[0].Data
}

// payloadResults continues an execution as new and ends it.
func payloadResults(t *trial) {
	for _, edge := range payloadEdges() {
		id := fresh()
		m := text(edge)
		i := t.continueAsNew(t.begin(id), func(r *provider.CommitTurnRequest) {
			r.Next.Events, r.Next.Message = [][]byte{[]byte(edge)}, &m
		})
		checkBytes(t, "event of the next execution", lastEvent(t, i.Key), edge)
		checkBytes(t, "message of the next execution", consumeOnly(t, named(id)), edge)
		req := next(t.get(i.Key))
		req.Status, req.Result = provider.StatusFailed, []byte(edge)
		t.commit(req)
		checkBytes(t, "result", t.get(i.Key).Result, edge)
	}
}

func payloadTasks(t *trial) {
	for _, edge := range payloadEdges() {
		id := fresh()
		task := newTask(1)
		task.Payload = []byte(edge)
		t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
		got := t.fetchTask()
		checkBytes(t, "task", got.Payload, edge)
		item := renewal(got)
		item.Details = []byte(edge)
		t.ok(t.renew(item).Err)
		t.ok(t.report(got, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte(edge) }).Err)
		got = t.fetchTask()
		checkBytes(t, "failure", got.Failure, edge)
		checkBytes(t, "details", got.Details, edge)
		t.ok(t.report(got, provider.TaskComplete, func(r *provider.TaskReport) { r.Message.Payload = []byte(edge) }).Err)
		checkBytes(t, "result", consumeOnly(t, named(id)), edge)
	}
}

func payloadSteers(t *trial) {
	for _, edge := range payloadEdges() {
		notice := text(edge)
		id := fresh()
		parent := t.begin(id)
		req := next(parent)
		req.Starts = []provider.Start{startOf(parent, "child-"+id)}
		t.commit(req)
		child := t.byID("child-" + id)
		t.steer(child.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
			r.Event, r.Result, r.ParentNotice = []byte(edge), []byte(edge), &notice
		})
		checkBytes(t, "result", t.get(child.Key).Result, edge)
		checkBytes(t, "event", lastEvent(t, child.Key), edge)
		checkBytes(t, "notice to the parent", consumeOnly(t, named(id)), edge)
		t.steer(parent.Key, provider.SteerReset, resetTo(edge))
		checkBytes(t, "event after a reset", lastEvent(t, parent.Key), edge)
	}
}

func payloadAsks(t *trial) {
	i := t.create("i")
	for _, edge := range payloadEdges() {
		answered := parked(t, func() []byte {
			res, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Payload: []byte(edge), Wait: long})
			t.ok(err)
			return res.Payload
		})
		open := fetchAsk(t)
		checkBytes(t, "question", open.Payload, edge)
		t.ok(t.Answer(t.ctx, provider.AnswerRequest{AskID: open.AskID, Payload: []byte(edge)}))
		checkBytes(t, "answer", answered(), edge)
	}
}

func payloadRecords(t *trial) {
	for _, edge := range payloadEdges() {
		req := put(fresh(), edge, 0)
		t.record(req)
		got := t.record(provider.RecordRequest{Action: provider.RecordGet, Namespace: "n", Key: req.Key})
		t.mustf(len(got) == 1, "got %d records, want 1", len(got))
		checkBytes(t, "record", got[0].Value, edge)
	}
}

func payloadLetters(t *trial) {
	for _, edge := range payloadEdges() {
		id := fresh()
		task := newTask(1)
		task.Payload = []byte(edge)
		i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
		t.ok(t.report(t.fetchTask(), provider.TaskPoison, func(r *provider.TaskReport) { r.Message.Payload = []byte(edge) }).Err)
		t.steer(i.Key, provider.SteerTerminate)
		list := t.letters()
		t.mustf(len(list) == 2, "%d dead letters, want a task and its result", len(list))
		for _, l := range list {
			checkBytes(t, "dead letter", l.Payload, edge)
		}
		actOnLetters(t, provider.DeadLettersDiscard, list[0].ID, list[1].ID)
	}
}

// The message of a panic may be any bytes. The instance must show them all the same.
func payloadFailures(t *trial) {
	for _, edge := range payloadEdges() {
		i := t.create(fresh())
		u := t.fetchOne()
		t.ok(t.release(u, func(r *provider.TurnRelease) {
			r.Kind = provider.ReleaseFailed
			r.Failure = &provider.TurnFailure{Reason: "panic", Message: edge, Hold: true}
		}))
		b := t.get(i.Key).Blocked
		t.mustf(b != nil && b.Reason == "panic", "blocked is %+v, want reason panic", b)
		checkBytes(t, "message", []byte(b.Message), edge)
	}
}
