package validations

import (
	"errors"
	"strings"

	"github.com/perdure/perdure/provider"
)

// settledCases checks what independent authors of providers have understood differently. Each sentence settles one question.
func settledCases() []testCase {
	const steered = "Terminate and Reset set Deliveries to 0, clear Blocked and end the turn lease."
	const ready = "Reset sets ReadyAt to its own moment, or keeps an earlier one. So a second Reset delays nothing."
	const removed = "It even keeps the moment of a timer that it removes."
	const ahead = "A lease is a claim ahead while ReadyAt of its instance lies ahead, however it was taken."
	const used = "[ErrInvalid]: a new task has the event ID of a stored one that the commit does not complete, or a new timer " +
		"that of a stored one that it does not consume."
	const release = "A token can release its expired lease until another token acquires it. Releasing a lease that the token " +
		"does not hold returns ErrLeaseLost."
	const cancel = "A task whose lease has expired counts as not leased, and a parked task as leased."
	return []testCase{
		{name: "attributes-by-name", run: settledAttributes, rule: "Instance.Attributes: by name"},
		{
			name: "key-in-use", run: settledKey,
			rule: "A Key in use is refused with an [*ExistsError] that names its holder, under every policy. An ID in use decides first.",
		},
		{name: "terminate-ends-the-lease", run: settledTerminate, rule: steered},
		{name: "reset-ends-the-lease", run: settledReset, rule: steered},
		{name: "reset-frees", run: settledResetFrees, rule: "Reset also ends stickiness and the delay of a release."},
		{name: "ended-is-never-ready", run: settledEnded, rule: "An instance that ends has ReadyAt 0."},
		{name: "second-reset", run: settledSecondReset, rule: ready},
		{name: "reset-of-a-ready-instance", run: settledResetReady, rule: removed},
		{
			name: "expired-lease-is-shown-as-queued", run: settledShown,
			rule: "A task whose lease has expired is shown as queued, without Owner and LeaseUntil.",
		},
		{name: "used-event", run: settledUsed, rule: used},
		{name: "used-event-of-a-close", run: settledUsedClose, rule: "A closing commit is refused, too."},
		{name: "lease-becomes-a-claim-ahead", run: settledOvertaken, rule: ahead},
		{name: "lease-of-a-ready-instance", run: settledNotOvertaken, rule: ahead},
		{
			name: "letters-of-a-close", run: settledLetters,
			rule: "The dead letters of a close come in order (VisibleAt, ID), refusals included. Their Reason is CloseInbox if that is set.",
		},
		{name: "expired-named-lease", run: settledNamedLease, rule: release},
		{name: "named-lease-of-another", run: settledOtherLease, rule: release},
		{
			name: "redriven-task-keeps", run: settledRedriven,
			rule: "It keeps its queue, name, payload, priority, fairness key and session.",
		},
		{name: "parked-without-a-limit", run: settledParked, rule: "Without Limit the task keeps its StartBy."},
		{name: "close-ends-any-lease", run: settledClose, rule: "A closing commit ends any turn lease."},
		{name: "order-after-a-commit", run: settledOrder, rule: "After its next commit it counts from its ReadyAt again."},
		{
			name: "expired-turn-lease", run: settledExpiredTurn,
			rule: "An expired lease can be released until it is ended or the instance is leased again.",
		},
		{name: "idle-of-a-session", run: settledIdle, rule: "the fetch that takes the session sets it"},
		{name: "past-its-time-before-not-before", run: settledLate, rule: "Its NotBefore then no longer matters."},
		{name: "cancelled-after-its-lease", run: settledCancelExpired, rule: cancel},
		{name: "cancelled-while-parked", run: settledCancelParked, rule: cancel},
		{
			name: "released-begun-past-its-time", run: settledBegun,
			rule: "Then a task that was leased past its StartBy is in time again.",
		},
	}
}

func settledAttributes(t *trial) {
	number := func(name string) provider.Attribute {
		return provider.Attribute{Name: name, Kind: provider.AttributeInt, Number: 1}
	}
	names := func(i provider.Instance) string {
		words := make([]string, 0, len(i.Attributes))
		for _, a := range i.Attributes {
			words = append(words, a.Name)
		}
		return strings.Join(words, " ")
	}
	i := t.create("i", func(r *provider.CreateRequest) { r.Attributes = []provider.Attribute{number("c"), number("a")} })
	is(t, "attributes of a new instance", names(i), "a c")
	u := t.fetchOne()
	is(t, "attributes of a fetched instance", names(u.Instance), "a c")
	req := commitOf(u)
	req.Attributes = []provider.Attribute{number("d"), number("B"), number("b")}
	t.commit(req)
	is(t, "attributes after a commit", names(t.get(i.Key)), "B a b c d")
	list, err := t.List(t.ctx, provider.ListRequest{})
	t.ok(err)
	t.mustf(len(list.Instances) == 1, "%d instances, want 1", len(list.Instances))
	is(t, "attributes of a listed instance", names(list.Instances[0]), "B a b c d")
	is(t, "attributes of a steered instance", names(t.steer(i.Key, provider.SteerSuspend)), "B a b c d")
}

func settledKey(t *trial) {
	running, ended := t.begin("slot!running"), t.end(t.begin("slot!ended"))
	names := func(req provider.CreateRequest, holder provider.Instance) {
		t.unchanged(holder.Key, func() {
			_, err := t.Create(t.ctx, req)
			exists, ok := errors.AsType[*provider.ExistsError](err)
			t.mustf(ok, "a create with the key of %q returned %v, want an ExistsError", holder.ID, err)
			t.checkf(exists.ID == holder.ID && exists.Key == holder.Key && exists.Status == holder.Status,
				"the error names %+v, want the holder %q", *exists, holder.ID)
		})
	}
	for _, holder := range []provider.Instance{running, ended} {
		for _, policy := range []provider.IDPolicy{provider.IDReject, provider.IDUseExisting, provider.IDReplaceEnded} {
			req := createRequest("slot!new")
			req.Key, req.Policy = holder.Key, policy
			names(req, holder)
		}
	}
	req := createRequest("slot!ended")
	req.Key, req.Policy = ended.Key, provider.IDReplaceEnded
	names(req, ended)
	req = createRequest("slot!ended")
	req.Key = running.Key
	names(req, ended)
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "slot!new"})
	t.want(err, provider.ErrNotFound)
}

// leasedAndBlocked returns a turn of an instance that was blocked before.
func leasedAndBlocked(t *trial) turn {
	t.create("i")
	t.block(t.fetchOne(), false)
	u := t.fetchOne()
	is(t, "deliveries before", u.Instance.Deliveries, 2)
	return u
}

func settledTerminate(t *trial) {
	u := leasedAndBlocked(t)
	got := t.steer(u.Instance.Key, provider.SteerTerminate)
	t.checkf(got.Deliveries == 0 && got.Blocked == nil, "%d deliveries, blocked %v, want neither", got.Deliveries, got.Blocked != nil)
	t.want(t.release(u), provider.ErrLeaseLost)
}

func settledReset(t *trial) {
	u := leasedAndBlocked(t)
	got := t.steer(u.Instance.Key, provider.SteerReset)
	t.checkf(got.Deliveries == 0 && got.Blocked == nil, "%d deliveries, blocked %v, want neither", got.Deliveries, got.Blocked != nil)
	t.want(t.release(u), provider.ErrLeaseLost)
	is(t, "deliveries of the next lease", t.fetchOne().Instance.Deliveries, 1)
}

func settledResetFrees(t *trial) {
	other := func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" }
	i := t.begin("sticky", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = node, long })
	t.steer(i.Key, provider.SteerReset)
	is(t, "turns of a sticky instance for another owner", len(t.fetch(named("sticky"), other)), 1)
	i = t.begin("delayed")
	t.send(i.Key, text("m"))
	t.ok(t.release(t.fetchOne(named("delayed")), func(r *provider.TurnRelease) { r.Delay = long }))
	t.steer(i.Key, provider.SteerReset)
	is(t, "turns of a delayed instance", len(t.fetch(named("delayed"), other)), 1)
}

func settledEnded(t *trial) {
	for name, end := range map[string]func(i provider.Instance){
		"terminated": func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		"closed":     func(i provider.Instance) { t.end(i) },
	} {
		i := t.begin(name)
		t.steer(i.Key, provider.SteerReset)
		end(t.get(i.Key))
		is(t, "ReadyAt of an instance that was reset and "+name, t.get(i.Key).ReadyAt, 0)
	}
}

func settledSecondReset(t *trial) {
	i := t.begin("i")
	first := t.steer(i.Key, provider.SteerReset)
	is(t, "ReadyAt of the first Reset", first.ReadyAt, first.UpdatedAt)
	t.pass(short)
	second := t.steer(i.Key, provider.SteerReset)
	is(t, "ReadyAt of the second Reset", second.ReadyAt, first.ReadyAt)
	is(t, "the execution", second.Execution, 3)
}

func settledResetReady(t *trial) {
	i := t.begin("waits")
	t.send(i.Key, text("m"))
	before := t.get(i.Key).ReadyAt
	t.pass(short)
	is(t, "ReadyAt with a message that waits", t.steer(i.Key, provider.SteerReset).ReadyAt, before)
	i = t.begin("sleeps")
	m := text("m")
	m.Delay = long
	t.send(i.Key, m)
	got := t.steer(i.Key, provider.SteerReset)
	is(t, "ReadyAt with a message that is due later", got.ReadyAt, got.UpdatedAt)
	i = t.begin("timer", func(r *provider.CommitTurnRequest) { r.Timers = []provider.Timer{{EventID: 1, Due: 5}} })
	t.send(i.Key, text("m"))
	is(t, "ReadyAt after the timer that set it", t.steer(i.Key, provider.SteerReset).ReadyAt, 5)
}

// beginUsed makes an instance with task 1, leased under the token, task 2, timer 3 and two messages.
func beginUsed(t *trial) (i provider.Instance, token provider.UUID, messages []int64) {
	task, token := handedOff()
	i = t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Tasks = []provider.NewTask{task, newTask(2)}
		r.Timers = []provider.Timer{{EventID: 3, Due: 1 << 60}}
	})
	for _, word := range []string{"a", "b"} {
		messages = append(messages, t.send(i.Key, text(word)).MessageID)
	}
	return t.get(i.Key), token, messages
}

// usedEvents are parts of a commit that use the events of beginUsed again.
func usedEvents() map[string]func(*provider.CommitTurnRequest) {
	timer := provider.Timer{EventID: 3, Due: 1}
	return map[string]func(*provider.CommitTurnRequest){
		"task":        func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(2)} },
		"second task": func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(9), newTask(2)} },
		"timer":       func(r *provider.CommitTurnRequest) { r.Timers = []provider.Timer{timer} },
		"second timer": func(r *provider.CommitTurnRequest) {
			r.Timers = []provider.Timer{{EventID: 9, Due: 1}, timer}
		},
		"timer that is cancelled after it": func(r *provider.CommitTurnRequest) {
			r.Timers, r.CancelTimers = []provider.Timer{{EventID: 9, Due: 1}, timer}, []int64{9}
		},
	}
}

func settledUsed(t *trial) {
	i, token, messages := beginUsed(t)
	for name, uses := range usedEvents() {
		req := next(i, "event")
		req.Consumed = messages[:1]
		req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
		uses(&req)
		t.wholeUnchanged("a used "+name, func() {
			_, err := t.CommitTurn(t.ctx, req)
			t.want(err, provider.ErrInvalid)
		})
	}
	req := next(i)
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
	req.Tasks = []provider.NewTask{newTask(1)}
	t.commit(req)
}

func settledUsedClose(t *trial) {
	i, token, messages := beginUsed(t)
	for name, uses := range usedEvents() {
		req := closing(i)
		req.Consumed, req.CloseInbox = messages[:1], "closed"
		req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
		uses(&req)
		t.wholeUnchanged("a used "+name, func() {
			_, err := t.CommitTurn(t.ctx, req)
			t.want(err, provider.ErrInvalid)
		})
	}
}

func settledOvertaken(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	req := next(u.Instance) // without the lease
	req.Consumed = commitOf(u).Consumed
	req.Timers = []provider.Timer{{EventID: 5, Due: i.CreatedAt.Add(10 * long)}}
	t.commit(req)
	t.noTurn("the lease holds the instance", named("i"))
	t.send(i.Key, text("first"))
	list := t.fetch(named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	t.mustf(len(list) == 1, "got %d turns for another owner, want 1: the commit left a timer alone, so the lease is a claim ahead that a message ends", len(list))
	again := list[0]
	t.checkf(again.payloads() == "first" && again.Instance.Deliveries == 1,
		"got %q on delivery %d, want \"first\" and 1", again.payloads(), again.Instance.Deliveries)
}

func settledNotOvertaken(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerReset)
	u := t.fetchOne(named("i")) // without a message
	t.send(i.Key, text("m"))
	t.noTurn("the lease of a ready instance is no claim ahead", named("i"))
	t.ok(t.release(u))
}

func settledLetters(t *trial) {
	i := t.begin("i")
	for n, word := range []string{"last", "first"} {
		m := text(word)
		if n == 0 {
			m.Delay = 2 * long
		}
		t.send(i.Key, m)
	}
	sent, started, late := text("refused send"), text("refused start"), text("late refusal")
	late.Delay = long
	req := closing(i)
	req.CloseInbox = "closed"
	req.Sends = []provider.OutMessage{
		{ID: "nobody", Message: text("m"), Refused: &late}, {ID: "nobody", Message: text("m"), Refused: &sent},
	}
	start := startOf(i, "i")
	start.Refused = started
	req.Starts = []provider.Start{start}
	t.commit(req)
	list := t.letters()
	words := make([]string, 0, len(list))
	for _, l := range list {
		words = append(words, string(l.Payload))
		is(t, "the reason of letter "+string(l.Payload), l.Reason, "closed")
	}
	is(t, "the dead letters", strings.Join(words, ", "), "first, refused send, refused start, late refusal, last")
}

func settledNamedLease(t *trial) {
	mine := acquire("a")
	mine.Duration = short
	callLease(t, mine)
	t.pass(2 * short)
	mine.Action = provider.LeaseRelease
	callLease(t, mine)
	_, err := t.Lease(t.ctx, mine)
	t.want(err, provider.ErrLeaseLost)
}

func settledOtherLease(t *trial) {
	mine, other := acquire("a"), acquire("b")
	mine.Duration = short
	release := func(req provider.LeaseRequest) error {
		req.Action = provider.LeaseRelease
		_, err := t.Lease(t.ctx, req)
		return err
	}
	t.want(release(mine), provider.ErrLeaseLost) // nobody holds it
	callLease(t, mine)
	t.pass(2 * short)
	t.want(release(other), provider.ErrLeaseLost)
	callLease(t, other)
	t.want(release(mine), provider.ErrLeaseLost)
	t.ok(release(other))
}

func settledClose(t *trial) {
	t.create("i")
	u := t.fetchOne()
	req := closing(u.Instance) // without the lease
	req.Consumed = commitOf(u).Consumed
	t.commit(req)
	t.want(t.release(u), provider.ErrLeaseLost)
	is(t, "deliveries", t.get(u.Instance.Key).Deliveries, 0)
	t.steer(u.Instance.Key, provider.SteerReset)
	t.fetchOne()
}

func settledOrder(t *trial) {
	for how, hold := range map[string]func(u turn){
		"lease":   func(turn) {},
		"delay":   func(u turn) { t.ok(t.release(u, func(r *provider.TurnRelease) { r.Delay = long })) },
		"failure": func(u turn) { t.block(u, true) },
	} {
		both := func(r *provider.FetchTurnsRequest) {
			r.Capabilities = []provider.Capability{{Name: "setup-held-" + how, CodeVersion: codeVersion}, {Name: "setup-free-" + how, CodeVersion: codeVersion}}
		}
		held, free := t.begin("held-"+how), t.begin("free-"+how)
		t.send(held.Key, text("m"))
		u := t.fetchOne(named(held.ID))
		hold(u)
		t.commit(commitOf(u))
		t.send(held.Key, text("earlier"))
		t.pass(short)
		t.send(free.Key, text("later"))
		list := t.fetch(both)
		t.mustf(len(list) == 2, "%s: got %d turns, want 2", how, len(list))
		t.checkf(list[0].Instance.ID == held.ID, "%s: got %s first, want %s, which was ready earlier", how, list[0].Instance.ID, held.ID)
	}
}

func settledExpiredTurn(t *trial) {
	i := t.create("i")
	u := t.fetchOne(briefly)
	t.pass(2 * short)
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerResume)
	t.commit(next(t.get(i.Key), "event"))
	t.ok(t.release(u))
	t.want(t.release(u), provider.ErrLeaseLost)
	u = t.fetchOne(briefly)
	t.pass(2 * short)
	again := t.fetchOne()
	t.want(t.release(u), provider.ErrLeaseLost)
	t.ok(t.release(again))
}
