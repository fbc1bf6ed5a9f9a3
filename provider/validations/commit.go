package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

func commitCases() []testCase {
	const all = "CommitTurn applies one turn of one instance: all of it, or nothing."
	const rest = "ReadyAt of the result covers the messages that are left in the inbox."
	return []testCase{
		{name: "all-of-it", run: commitAll, rule: all},
		{name: "consumes-what-it-names", run: commitConsumes, rule: "CommitTurnRequest.Consumed: message IDs"},
		{name: "custom-status", run: commitCustomStatus, rule: "CommitTurnRequest.CustomStatus: nil keeps, empty clears"},
		{name: "values", run: commitValues, rule: "In a commit a nil Value deletes the key."},
		{name: "attributes", run: commitAttributes, rule: "CommitTurnRequest.Attributes: set or replaced by name; nil keeps"},
		{name: "engine-level", run: commitLevel, rule: "CommitTurnRequest.EngineLevel: 0 keeps; the stored level never falls within an execution"},
		{name: "lost-completion", run: commitLeaseLost, rule: "[ErrLeaseLost]: the task of a Completes item is not leased under the item's token."},
		{
			name: "completion", run: commitCompletes,
			rule: "TaskCompletion completes, within a turn's commit, a task whose result the turn has consumed from memory (hand-off).",
		},
		{name: "ends-the-lease", run: commitEndsLease, rule: "The commit resets Deliveries, clears Blocked, and ends the turn lease if Lease names it."},
		{name: "keeps-another-lease", run: commitKeepsLease, rule: "The commit resets Deliveries, clears Blocked, and ends the turn lease if Lease names it."},
		{name: "ready-at-message", run: commitReadyMessage, rule: rest},
		{name: "ready-at-timer", run: commitReadyTimer, rule: rest},
		{name: "ready-never", run: commitReadyNever, rule: rest},
		{name: "timer", run: commitTimer, rule: "Timer is a message from the instance to itself that becomes visible at Due."},
		{name: "cancel-timer", run: commitCancelTimer, rule: "CommitTurnRequest.CancelTimers: event IDs; one may be gone"},
		{name: "cancel-consumed-timer", run: commitCancelConsumed, rule: "Timers are keyed by (execution, EventID)."},
		{name: "groups-are-invisible", run: commitGroup, rule: "Commits of different instances never fail each other."},
		{name: "payload-bytes", run: commitPayloads, rule: "A provider never looks inside an event, a message or a payload."},
		{name: "order", run: commitOrder, rule: "The order within the commit is: fence, completes, consumed, events, tasks, timers, sends, starts, status."},
		{
			name: "attribute-kinds", run: attributeKinds,
			rule: "Text uses Attribute.Text; the others use Attribute.Number (Bool 0 or 1, Instant as Time).",
		},
	}
}

func commitAll(t *trial) {
	i := t.begin("i")
	req := rich(i)
	t.commit(req)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true})
	t.ok(err)
	got := res.Instance
	t.checkf(got.Version == req.Commit && got.UpdatedAt >= i.UpdatedAt,
		"version %s updated at %d, want the commit's version and a later time", got.Version, got.UpdatedAt)
	t.checkf(got.HistoryLength == 2 && got.HistoryBytes == int64(len("started")+len("event")),
		"history of %d events, %d bytes, want 2 and 12", got.HistoryLength, got.HistoryBytes)
	t.checkf(len(res.Tasks) == 1 && res.Tasks[0].EventID == 100 && res.Tasks[0].State == provider.TaskQueued, "tasks %+v, want event 100, queued", res.Tasks)
	t.checkf(got.InboxMessages == 2, "%d messages, want 2: a timer and a message", got.InboxMessages)
	t.checkf(string(got.CustomStatus) == "custom", "custom status %q, want \"custom\"", got.CustomStatus)
	t.checkf(len(res.Values) == 1 && res.Values[0].Key == "k" && string(res.Values[0].Value) == "v", "values %+v, want k=v", res.Values)
	t.checkf(len(got.Attributes) == 1 && got.Attributes[0] == req.Attributes[0], "attributes %+v, want those of the commit", got.Attributes)
	t.historyIs(i.Key, 1, "1:started 2:event")
}

func commitConsumes(t *trial) {
	i := t.begin("i")
	for _, word := range []string{"a", "b", "c"} {
		t.send(i.Key, text(word))
	}
	u := t.fetchOne(named("i"))
	req := commitOf(u)
	req.Consumed = []int64{u.Messages[1].ID}
	t.commit(req)
	u = t.fetchOne(named("i"))
	t.checkf(u.payloads() == "a c", "the inbox has %q, want \"a c\"", u.payloads())
}

func commitCustomStatus(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.CustomStatus = []byte("one") })
	t.commit(next(i))
	i = t.get(i.Key)
	t.checkf(string(i.CustomStatus) == "one", "a nil CustomStatus changed it to %q, want \"one\"", i.CustomStatus)
	req := next(i)
	req.CustomStatus = []byte{}
	t.commit(req)
	is(t, "the length of the cleared custom status", len(t.get(i.Key).CustomStatus), 0)
}

func commitValues(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Values = []provider.KeyValue{{Key: "b", Value: []byte("1")}, {Key: "a", Value: []byte{}}, {Key: "c", Value: []byte("3")}}
	})
	req := next(i)
	req.Values = []provider.KeyValue{{Key: "b", Value: []byte("2")}, {Key: "c"}, {Key: "gone"}}
	t.commit(req)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithValues: true})
	t.ok(err)
	got := make([]string, 0, len(res.Values))
	for _, v := range res.Values {
		got = append(got, fmt.Sprintf("%s=%s", v.Key, v.Value))
	}
	t.checkf(strings.Join(got, " ") == "a= b=2", "values are %q, want a= and b=2", got)
}

func commitAttributes(t *trial) {
	number := func(name string, n int64) provider.Attribute {
		return provider.Attribute{Name: name, Kind: provider.AttributeInt, Number: n}
	}
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Attributes = []provider.Attribute{number("a", 1), number("b", 1)}
	})
	req := next(i)
	req.Attributes = []provider.Attribute{{Name: "b", Kind: provider.AttributeText, Text: "t"}, number("c", 3)}
	t.commit(req)
	i = t.get(i.Key)
	t.commit(next(i))
	got := map[string]provider.Attribute{}
	for _, a := range t.get(i.Key).Attributes {
		got[a.Name] = a
	}
	t.checkf(len(got) == 3 && got["a"].Number == 1 && got["b"] == req.Attributes[0] && got["c"].Number == 3,
		"attributes are %+v, want a of the first commit, b of the second, c of the third", got)
}

func commitLevel(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.EngineLevel = 4 })
	for _, level := range []int64{0, 2} {
		req := next(i)
		req.EngineLevel = level
		t.commit(req)
		i = t.get(i.Key)
		t.checkf(i.EngineLevel == 4, "a commit with level %d made the level %d, want 4", level, i.EngineLevel)
	}
}

func commitLeaseLost(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task, newTask(2))
	for _, c := range []provider.TaskCompletion{{EventID: 1, Token: unique()}, {EventID: 2, Token: token}, {EventID: 3, Token: token}} {
		req := rich(i)
		req.Completes = []provider.TaskCompletion{c}
		t.refused(req, provider.ErrLeaseLost)
	}
}

func commitCompletes(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task)
	list := t.fetchTasks()
	is(t, "handed-off tasks fetched", len(list), 0)
	req := next(i, "done")
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
	t.commit(req)
	t.tasksAre(i.Key, "")
	t.historyIs(i.Key, 1, "1:started 2:done")
	is(t, "messages after a completion within the commit", t.get(i.Key).InboxMessages, 0)
}

func commitEndsLease(t *trial) {
	t.create("i")
	u := t.fetchOne()
	req := commitOf(u)
	req.Consumed = nil
	t.commit(req)
	t.fetchOne()
}

func commitKeepsLease(t *trial) {
	t.create("i")
	u := t.fetchOne()
	req := commitOf(u)
	req.Consumed, req.Lease = nil, provider.UUID{}
	t.commit(req)
	t.noTurn("a commit that does not name the lease keeps it")
}

func commitReadyMessage(t *trial) {
	t.create("i")
	u := t.fetchOne()
	sent := t.send(u.Instance.Key, text("m"))
	res := t.commit(commitOf(u))
	t.checkf(res.ReadyAt != 0 && res.ReadyAt <= sent.Now && res.Now >= sent.Now, "ready at %d, want the time of the send, at most %d", res.ReadyAt, sent.Now)
}

func commitReadyTimer(t *trial) {
	t.create("i")
	u := t.fetchOne()
	due := u.Instance.CreatedAt.Add(long)
	req := commitOf(u)
	req.Timers = []provider.Timer{{EventID: 2, Due: due.Add(long)}, {EventID: 1, Due: due}}
	res := t.commit(req)
	t.checkf(res.ReadyAt == due, "ready at %d, want %d, when the earliest timer is due", res.ReadyAt, due)
	t.checkf(t.get(u.Instance.Key).ReadyAt == due, "the instance is ready at %d, want %d", t.get(u.Instance.Key).ReadyAt, due)
}

func commitReadyNever(t *trial) {
	t.create("i")
	res := t.commit(commitOf(t.fetchOne()))
	t.checkf(res.ReadyAt == 0 && res.Now > 0, "ready at %d with an empty inbox, want 0", res.ReadyAt)
}

func commitTimer(t *trial) {
	t.create("i")
	u := t.fetchOne()
	due := u.Instance.CreatedAt.Add(2 * short)
	req := commitOf(u)
	req.Timers = []provider.Timer{{EventID: 5, Kind: 9, Due: due, Payload: []byte("ring")}}
	t.commit(req)
	request := fetchRequest()
	request.Wait = patience
	res, err := t.FetchTurns(t.ctx, request)
	t.ok(err)
	t.mustf(len(res.Turns) == 1 && len(res.Turns[0].Messages) == 1, "got %+v, want one turn with one message", res.Turns)
	m := res.Turns[0].Messages[0]
	t.checkf(m.Timer && m.EventID == 5 && m.Execution == 1 && m.Kind == 9 && m.VisibleAt == due && string(m.Payload) == "ring",
		"timer %+v, want event 5 of execution 1 with its kind, payload and due time", m)
	t.checkf(res.Now >= due, "the timer fired at %d, want %d or later", res.Now, due)
}

func commitCancelTimer(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 1, Due: 1, Payload: []byte("one")}, {EventID: 2, Due: 1, Payload: []byte("two")}}
	})
	req := next(i)
	req.CancelTimers = []int64{1, 77}
	t.commit(req)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "two", "the inbox has %q, want \"two\"", u.payloads())
}

// A commit names a timer in Consumed and in CancelTimers if it is due in the turn that cancels it.
func commitCancelConsumed(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 1, Due: 1, Payload: []byte("one")}, {EventID: 2, Due: 2, Payload: []byte("two")}}
	})
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "one two m", "got %q, want \"one two m\"", u.payloads())
	req := commitOf(u, "event")
	req.Consumed = []int64{u.Messages[0].ID, u.Messages[2].ID}
	req.CancelTimers = []int64{1, 2}
	t.commit(req)
	left := t.get(i.Key)
	t.checkf(left.InboxMessages == 0 && left.ReadyAt == 0, "%d messages, want none, and ReadyAt 0", left.InboxMessages)
	req = next(left, "later")
	req.Timers = []provider.Timer{{EventID: 9, Due: 1, Payload: []byte("nine")}}
	t.commit(req)
	u = t.fetchOne(named("i"))
	t.checkf(u.payloads() == "nine", "got %q, want \"nine\"", u.payloads())
}

func commitGroup(t *trial) {
	const instances = 24
	made := make([]provider.Instance, instances)
	for n := range made {
		made[n] = t.begin(fmt.Sprint("i", n))
	}
	t.parallel(instances, func(n int) {
		req := rich(made[n])
		if n%3 == 0 {
			req.Expected = unique()
			t.refused(req, provider.ErrConflict)
			return
		}
		t.commit(req)
		t.historyIs(made[n].Key, 1, "1:started 2:event")
	})
}

func commitPayloads(t *trial) {
	i := t.begin("i")
	req := next(i, "", "a\x00b", "\xff\xfe", string(make([]byte, 2<<20)))
	t.commit(req)
	res, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, From: 2})
	t.ok(err)
	t.mustf(len(res.Events) == len(req.Events), "got %d events, want %d", len(res.Events), len(req.Events))
	for n, e := range res.Events {
		t.checkf(string(e.Data) == string(req.Events[n]), "event %d differs, it has %d bytes", e.ID, len(e.Data))
	}
	t.send(i.Key, text("m\x00\xff"))
	t.send(i.Key, provider.NewMessage{})
	u := t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 2 && string(u.Messages[0].Payload) == "m\x00\xff" && len(u.Messages[1].Payload) == 0,
		"messages %+v, want the bytes as sent and an empty payload", u.Messages)
}
