package validations

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func prefixCases() []testCase {
	const (
		stored   = "Tasks are stored as by a commit, with their first attempt, and so are Timers and Values."
		replaces = "CustomStatus and Attributes replace those of the instance: what the prefix does not have is removed."
		keeps    = "Values that it does not name stay. A nil Value removes one."
		first    = "Messages go into the inbox in their order, before all messages that wait there."
		since    = "Such a message is visible since its At. If that is later than now, it is visible since now. If an older message waits, it is " +
			"visible since one microsecond before that."
		seen = "The instance remembers exactly Seen afterwards, the newest last, of the requests with Messages that Create has delivered. So a " +
			"request whose messages the prefix does not have is delivered again if it is repeated."
	)
	return []testCase{
		{name: "prefix-limits", run: prefixLimits, rule: "It has the limits of a commit: what exceeds them is refused with [ErrTooLarge] before anything is stored."},
		{name: "prefix-invalid", run: prefixInvalid, rule: "Prefix.Events: the history; at least the start event"},
		{name: "prefix-tasks", run: prefixTasks, rule: stored},
		{name: "prefix-timers", run: prefixTimers, rule: stored},
		{name: "prefix-describes", run: prefixDescribes, rule: replaces},
		{name: "prefix-values", run: prefixValues, rule: keeps},
		{name: "prefix-value-wakes", run: prefixValueWakes, rule: stored},
		{name: "prefix-messages-come-first", run: prefixMessages, rule: first},
		{name: "prefix-messages-twice", run: prefixMessagesTwice, rule: first},
		{name: "prefix-messages-and-timers", run: prefixOrder, rule: since},
		{name: "prefix-messages-in-a-full-inbox", run: prefixFull, slow: true, rule: "The limits of Send do not apply."},
		{name: "prefix-forgets", run: prefixForgets, rule: seen},
		{name: "prefix-remembers", run: prefixRemembers, rule: seen},
	}
}

// carried returns messages that an earlier execution received, all at once.
func carried(at provider.Time, words ...string) (list []provider.CarriedMessage) {
	for _, w := range words {
		list = append(list, provider.CarriedMessage{Message: text(w), At: at})
	}
	return list
}

// prefixRefused checks that neither a reset nor a fork accepts a prefix.
func prefixRefused(t *trial, i provider.Instance, sentinel error, change func(*provider.Prefix)) {
	p := prefixOfAll()
	change(&p)
	t.unchanged(i.Key, func() {
		_, err := t.Reset(t.ctx, resetOf(i, p))
		t.want(err, sentinel)
		_, err = t.Fork(t.ctx, forkOf("fork", p))
		t.want(err, sentinel)
		_, err = t.Get(t.ctx, provider.GetRequest{ID: "fork"})
		t.want(err, provider.ErrNotFound)
	})
}

func prefixLimits(t *trial) {
	i := t.begin("i")
	for _, change := range []func(*provider.Prefix){
		func(p *provider.Prefix) { p.Events = slices.Repeat(p.Events, provider.MaxCommitRows/2+1) },
		func(p *provider.Prefix) { p.Events = append(p.Events, make([]byte, provider.MaxPayload+1)) },
		func(p *provider.Prefix) {
			p.Messages = carried(1, slices.Repeat([]string{"m"}, provider.MaxCommitRows+1)...)
		},
		func(p *provider.Prefix) {
			p.Messages = carried(1, slices.Repeat([]string{strings.Repeat("m", provider.MaxPayload)}, provider.MaxCommitBytes/provider.MaxPayload+1)...)
		},
		func(p *provider.Prefix) { p.Seen = numbers(provider.MaxRequests + 1) },
		func(p *provider.Prefix) { p.CustomStatus = make([]byte, provider.MaxPayload+1) },
	} {
		prefixRefused(t, i, provider.ErrTooLarge, change)
	}
	p := prefix("started")
	p.Messages, p.Seen = carried(1, slices.Repeat([]string{"m"}, 2000)...), numbers(provider.MaxRequests)
	is(t, "the messages of a long prefix", t.reset(resetOf(i, p)).InboxMessages, 2000)
}

func numbers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "r" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
	}
	return list
}

func prefixInvalid(t *trial) {
	i := t.begin("i")
	for _, change := range []func(*provider.Prefix){
		func(p *provider.Prefix) { p.Events = nil },
		func(p *provider.Prefix) {
			p.Tasks[0].Lease = &provider.TaskLease{Token: unique(), Owner: node, Duration: long}
		},
		func(p *provider.Prefix) { p.Tasks = append(p.Tasks, p.Tasks[0]) },
		func(p *provider.Prefix) { p.Timers = append(p.Timers, p.Timers[0]) },
		func(p *provider.Prefix) { p.Messages[0].Message.Delay = short },
		func(p *provider.Prefix) { p.Messages[0].At = 0 },
		func(p *provider.Prefix) { p.Messages = append(carried(2, "a"), carried(1, "b")...) },
		func(p *provider.Prefix) { p.Seen = []string{"r", "r"} },
		func(p *provider.Prefix) { p.Seen = []string{""} },
	} {
		prefixRefused(t, i, provider.ErrInvalid, change)
	}
	refuse := func(change func(*provider.ResetRequest)) {
		req := resetOf(i, prefixOfAll())
		change(&req)
		_, err := t.Reset(t.ctx, req)
		t.want(err, provider.ErrInvalid)
	}
	t.unchanged(i.Key, func() {
		refuse(func(r *provider.ResetRequest) { r.Expected = provider.UUID{} })
		refuse(func(r *provider.ResetRequest) { r.Commit = r.Expected })
		refuse(func(r *provider.ResetRequest) { r.Name = "" })
		refuse(func(r *provider.ResetRequest) { r.Children = []provider.ChildLink{{EventID: 1}} })
		refuse(func(r *provider.ResetRequest) {
			r.Children = []provider.ChildLink{{Key: unique(), EventID: 1}, {Key: unique(), EventID: 1}}
		})
	})
	for _, change := range []func(*provider.CreateRequest){
		func(r *provider.CreateRequest) { r.Policy = provider.IDUseExisting },
		func(r *provider.CreateRequest) { r.Message = text("start") },
		func(r *provider.CreateRequest) { r.Messages = []provider.NewMessage{text("m")} },
		func(r *provider.CreateRequest) { r.Attributes = prefixOfAll().Attributes },
		func(r *provider.CreateRequest) {
			r.First = &provider.CommitTurnRequest{
				Key: r.Key, Execution: 1, Expected: r.Commit, Commit: unique(), Status: provider.StatusRunning,
			}
		},
	} {
		req := forkOf("fork", prefixOfAll())
		change(&req.Create)
		_, err := t.Fork(t.ctx, req)
		t.want(err, provider.ErrInvalid)
	}
}

func prefixTasks(t *trial) {
	i := t.begin("i")
	p := prefix("started")
	for event := int64(1); event <= 3; event++ {
		task := newTask(event)
		task.Payload = []byte{byte(event)}
		p.Tasks = append(p.Tasks, task)
	}
	p.Tasks[0].NotBefore, p.Tasks[1].Priority, p.Tasks[2].Deadline = long, 1, short
	t.reset(resetOf(i, p))
	t.tasksAre(i.Key, "1 2 3")
	task := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	t.checkf(task.EventID == 2 && task.Execution == 2 && task.Attempt == 1 && string(task.Payload) == "\x02", "got %+v, want event 2 first", task)
	late := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Expired, r.Queues = true, nil })
	t.checkf(late.EventID == 3 && late.PastDeadline, "got %+v, want event 3 past its deadline", late)
	is(t, "tasks before their delay is over", len(t.fetchTasks()), 0)
	req := next(t.get(i.Key))
	req.CancelTasks = []provider.CancelTask{{EventID: 1}}
	t.commit(req)
	t.tasksAre(i.Key, "2 3")
	t.reset(resetOf(t.get(i.Key), prefix("started")))
	t.tasksAre(i.Key, "")
}

func prefixTimers(t *trial) {
	i := t.begin("i")
	now := t.send(i.Key, text("m")).Now
	p := prefix("started")
	p.Timers = []provider.Timer{
		{EventID: 1, Due: now.Add(long), Payload: []byte("far")},
		{EventID: 2, Due: now.Add(short), Payload: []byte("near")},
		{EventID: 3, Due: now.Add(-long), Payload: []byte("past")},
	}
	got := t.reset(resetOf(i, p))
	t.checkf(got.InboxMessages == 4 && got.ReadyAt == now.Add(-long), "got %+v, want 4 messages, ready since the first timer was due", got)
	var seen []provider.Message
	for len(seen) < 3 {
		u := t.fetchOne(named("i"))
		seen = append(seen, u.Messages...)
		req := commitOf(u)
		req.CancelTimers = []int64{1}
		t.commit(req)
	}
	t.mustf(payloads(seen) == "past m near", "got %q, want \"past m near\"", payloads(seen))
	t.checkf(seen[2].Timer && seen[2].Execution == 2 && seen[2].EventID == 2, "got %+v, want a timer of execution 2", seen[2])
	is(t, "messages after a cancelled timer", t.get(i.Key).InboxMessages, 0)
}

func prefixDescribes(t *trial) {
	number := func(name string, n int64) provider.Attribute {
		return provider.Attribute{Name: name, Kind: provider.AttributeInt, Number: n}
	}
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.CustomStatus, r.Attributes = []byte("paid"), []provider.Attribute{number("a", 1), number("b", 1)}
	})
	p := prefix("started")
	p.Attributes = []provider.Attribute{number("c", 2), number("b", 2)}
	got := t.reset(resetOf(i, p))
	t.checkf(got.CustomStatus == nil && slices.Equal(got.Attributes, []provider.Attribute{number("b", 2), number("c", 2)}),
		"got %+v, want no status, b and c", got)
	got = t.get(i.Key)
	t.checkf(got.CustomStatus == nil && slices.Equal(got.Attributes, []provider.Attribute{number("b", 2), number("c", 2)}),
		"got %+v, want no status, b and c", got)
	got = t.reset(resetOf(got, prefix("started")))
	is(t, "attributes after a prefix without any", len(got.Attributes), 0)
	req := next(got)
	req.Attributes = []provider.Attribute{number("d", 1)}
	t.commit(req)
	is(t, "attributes after a commit", len(t.get(i.Key).Attributes), 1)
}

func prefixValues(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Values = []provider.KeyValue{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("1")}, {Key: "c", Value: []byte("1")}}
	})
	p := prefix("started")
	p.Values = []provider.KeyValue{{Key: "b", Value: nil}, {Key: "c", Value: []byte("discarded")}, {Key: "d", Value: []byte{}}}
	t.reset(resetOf(i, p))
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithValues: true})
	t.ok(err)
	words := make([]string, 0, len(res.Values))
	for _, v := range res.Values {
		words = append(words, v.Key+"="+string(v.Value))
	}
	is(t, "the values", strings.Join(words, " "), "a=1 c=discarded d=")
}

func prefixValueWakes(t *trial) {
	i := t.begin("i")
	got := parked(t, func() *provider.KeyValue {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, Value: "v", WaitValue: true, Wait: patience})
		t.ok(err)
		return res.Value
	})
	t.reset(resetOf(i, prefixOfAll()))
	v := got()
	t.checkf(v != nil && string(v.Value) == "value", "the waiting call got %+v, want \"value\"", v)
}

func prefixMessages(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("c"))
	late := text("late")
	late.Delay = long
	t.send(i.Key, late)
	p := prefix("started")
	p.Messages = carried(provider.HeldUntil, "a", "b")
	p.Messages[1].Message.Kind, p.Messages[1].Message.Execution, p.Messages[1].Message.EventID = 9, 2, 1
	got := t.reset(resetOf(i, p))
	is(t, "the messages", got.InboxMessages, 4)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "a b c", "got %q, want \"a b c\"", u.payloads())
	b := u.Messages[1]
	t.checkf(b.Kind == 9 && b.Execution == 2 && b.EventID == 1 && !b.Timer, "got %+v, want the fields of the prefix", b)
	t.commit(commitOf(u))
	t.noTurn("the last message is not visible yet", named("i"))
}

// prefixMessagesTwice checks that messages which a reset carried and nobody read stay in their place at the next one.
func prefixMessagesTwice(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("d"))
	for _, words := range [][]string{{"c"}, {"a", "b"}} {
		p := prefix("started")
		p.Messages = carried(provider.HeldUntil, words...)
		t.reset(resetOf(t.get(i.Key), p))
	}
	t.send(i.Key, text("e"))
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "a b c d e")
}

// prefixOrder checks the instants that the order of messages and timers depends on.
func prefixOrder(t *trial) {
	i := t.begin("i")
	p := prefix("started")
	p.Timers = []provider.Timer{{EventID: 1, Due: 100, Payload: []byte("timer")}}
	p.Messages = append(carried(99, "a"), append(carried(100, "b"), carried(provider.HeldUntil, "c")...)...)
	got := t.reset(resetOf(i, p))
	is(t, "ReadyAt", got.ReadyAt, 99)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "a timer b c", "got %q, want \"a timer b c\"", u.payloads())
	t.checkf(u.Messages[2].VisibleAt == 100 && u.Messages[3].VisibleAt == got.UpdatedAt, "visible since %d and %d, want 100 and %d",
		u.Messages[2].VisibleAt, u.Messages[3].VisibleAt, got.UpdatedAt)
	p = prefix("started")
	p.Messages = append(carried(1, "d"), carried(provider.HeldUntil, "e")...)
	t.reset(resetOf(t.get(i.Key), p))
	u = t.fetchOne(named("i"))
	t.mustf(u.payloads() == "d e a b c", "got %q, want \"d e a b c\"", u.payloads())
	t.checkf(u.Messages[0].VisibleAt == 1 && u.Messages[1].VisibleAt == 98, "visible since %d and %d, want 1 and 98",
		u.Messages[0].VisibleAt, u.Messages[1].VisibleAt)
}

func prefixFull(t *trial) {
	i := t.fill(t.begin("i"), provider.MaxInboxMessages)
	p := prefix("started")
	p.Messages = carried(1, "a", "b")
	is(t, "the messages", t.reset(resetOf(t.get(i.Key), p)).InboxMessages, provider.MaxInboxMessages+2)
}

func prefixForgets(t *trial) {
	i := t.begin("i")
	for _, request := range []string{"kept", "dropped"} {
		t.joins(i.Key, join("i", request, request))
	}
	t.commit(commitOf(t.fetchOne(named("i"))))
	p := prefix("started")
	p.Seen = []string{"kept", "new"}
	t.reset(resetOf(t.get(i.Key), p))
	t.unchanged(i.Key, func() {
		t.joins(i.Key, join("i", "kept", "again"))
		t.joins(i.Key, join("i", "new", "again"))
	})
	t.joins(i.Key, join("i", "dropped", "again"))
	t.joins(i.Key, join("i", "dropped", "again"))
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "again")
	t.reset(resetOf(t.get(i.Key), prefix("started")))
	t.joins(i.Key, join("i", "kept", "more"))
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "again more")
}

// prefixRemembers checks what a fork has seen, and that the memory is not cut short by requests that come later.
func prefixRemembers(t *trial) {
	p := prefix("started")
	p.Seen = numbers(provider.MaxRequests - 1)
	i := t.fork(forkOf("i", p))
	t.joins(i.Key, join("i", "later", "m"))
	t.unchanged(i.Key, func() {
		for _, n := range []int{0, 1, provider.MaxRequests - 2} {
			t.joins(i.Key, join("i", p.Seen[n], "again"))
		}
		t.joins(i.Key, join("i", "later", "again"))
	})
}
