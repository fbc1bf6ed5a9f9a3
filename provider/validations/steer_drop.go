package validations

import (
	"errors"

	"github.com/perdure/perdure/provider"
)

func steerDropCases() []testCase {
	const drop = "Drop moves the message MessageID from the inbox to the dead letters, under Reason. If it does not wait there, the call returns [ErrNotFound]."
	const ready = "An instance that was ready for a turn stays ready, even with an empty inbox."
	return []testCase{
		{name: "drop", run: steerDrop, rule: drop},
		{name: "drop-later", run: steerDropLater, rule: drop},
		{name: "drop-unknown", run: steerDropUnknown, rule: drop},
		{name: "drop-and-redrive", run: steerDropRedrive, rule: drop},
		{name: "drop-of-a-timer", run: steerDropTimer, rule: drop},
		{name: "drop-or-consume", run: steerDropRace, rule: drop},
		{name: "drop-after-reset", run: steerDropReset, rule: ready},
		{name: "drop-blocked", run: steerDropBlocked, rule: "Blocked and Suspended stay."},
	}
}

func dropping(id int64) func(*provider.SteerRequest) {
	return func(r *provider.SteerRequest) { r.MessageID, r.Reason = id, "bad payload" }
}

func steerDrop(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("a"))
	bad := t.send(i.Key, provider.NewMessage{Kind: 9, Execution: 1, EventID: 3, Payload: []byte("b")}).MessageID
	t.send(i.Key, text("c"))
	u := t.fetchOne(named("i"))
	got := t.steer(i.Key, provider.SteerDrop, dropping(bad), func(r *provider.SteerRequest) { r.Event = []byte("dropped") })
	t.checkf(got.InboxMessages == 2 && got.Version != i.Version && got.Status == provider.StatusRunning, "got %+v, want two messages and a new Version", got)
	t.historyIs(i.Key, 1, "1:started 2:dropped")
	t.refused(commitOf(u), provider.ErrConflict)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	l := list[0]
	t.checkf(l.Key == i.Key && l.InstanceID == "i" && l.Kind == 9 && l.Execution == 1 && l.EventID == 3 && !l.Task && string(l.Payload) == "b" &&
		l.Reason == "bad payload" && l.At > 0, "the dead letter is %+v, want the message with its fields and the reason", l)
	t.ok(t.release(u))
	u = t.fetchOne(named("i"))
	is(t, "the messages that are left", u.payloads(), "a c")
	t.commit(commitOf(u))
	is(t, "messages after the commit", t.get(i.Key).InboxMessages, 0)
}

// steerDropLater drops the only message before it is visible.
func steerDropLater(t *trial) {
	i := t.begin("i")
	m := text("m")
	m.Delay = long
	id := t.send(i.Key, m).MessageID
	got := t.steer(i.Key, provider.SteerDrop, dropping(id))
	t.checkf(got.InboxMessages == 0 && got.ReadyAt == 0, "%d messages, ReadyAt %d, want none and 0", got.InboxMessages, got.ReadyAt)
	t.noTurn("nothing waits", named("i"))
}

func steerDropUnknown(t *trial) {
	i, other := t.begin("i"), t.begin("other")
	id := t.send(i.Key, text("m")).MessageID
	drop := func(key provider.UUID, id int64) error {
		_, err := t.Steer(t.ctx, provider.SteerRequest{
			Key: key, Action: provider.SteerDrop, Commit: unique(), MessageID: id, Reason: "r", Event: []byte("e"),
		})
		return err
	}
	t.unchanged(i.Key, func() { t.want(drop(i.Key, id+1000), provider.ErrNotFound) })
	t.unchanged(other.Key, func() { t.want(drop(other.Key, id+1000), provider.ErrNotFound) })
	t.ok(drop(i.Key, id))
	t.unchanged(i.Key, func() { t.want(drop(i.Key, id), provider.ErrNotFound) })
	is(t, "dead letters", len(t.letters()), 1)
}

func redriveAll(t *trial) int64 {
	list := t.letters()
	ids := make([]int64, 0, len(list))
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Action: provider.DeadLettersRedrive, IDs: ids})
	t.ok(err)
	return res.Done
}

func steerDropRedrive(t *trial) {
	i := t.begin("i")
	id := t.send(i.Key, text("m")).MessageID
	t.steer(i.Key, provider.SteerDrop, dropping(id))
	is(t, "letters that went back", redriveAll(t), 1)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m")
}

func steerDropTimer(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 5, Due: 1, Payload: []byte("timer")}}
	})
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 1, "%d messages, want the timer", len(u.Messages))
	t.steer(i.Key, provider.SteerDrop, dropping(u.Messages[0].ID))
	is(t, "messages after the drop", t.get(i.Key).InboxMessages, 0)
	is(t, "letters that went back", redriveAll(t), 1)
	t.ok(t.release(u))
	u = t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 1 && u.Messages[0].Timer && u.Messages[0].EventID == 5, "got %+v, want the timer of event 5", u.Messages)
}

// steerDropRace lets a commit consume what an operator drops: one of them wins.
func steerDropRace(t *trial) {
	i := t.begin("i")
	for range 10 {
		before := len(t.letters())
		id := t.send(i.Key, text("m")).MessageID
		req := next(t.get(i.Key), "consumed")
		req.Consumed = []int64{id}
		var dropped, committed error
		t.parallel(2, func(n int) {
			if n == 0 {
				_, committed = t.CommitTurn(t.ctx, req)
				return
			}
			_, dropped = t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerDrop, Commit: unique(), MessageID: id, Reason: "r"})
		})
		letters := len(t.letters()) - before
		switch {
		case committed == nil:
			t.want(dropped, provider.ErrNotFound)
			is(t, "dead letters of a consumed message", letters, 0)
		case errors.Is(committed, provider.ErrConflict):
			t.ok(dropped)
			is(t, "dead letters of a dropped message", letters, 1)
		default:
			t.fatalf("the commit returned %v, want none or a conflict", committed)
		}
		is(t, "messages that are left", t.get(i.Key).InboxMessages, 0)
	}
}

func steerDropReset(t *trial) {
	i := t.begin("i")
	early := t.send(i.Key, text("early")).MessageID
	t.steer(i.Key, provider.SteerReset, resetTo("one"))
	t.steer(i.Key, provider.SteerDrop, dropping(early))
	late := t.send(i.Key, text("late")).MessageID
	t.steer(i.Key, provider.SteerDrop, dropping(late))
	u := t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 0 && u.Instance.Execution == 2, "got %q in execution %d, want a turn without messages in 2", u.payloads(), u.Instance.Execution)
	t.commit(commitOf(u, "two"))
	t.noTurn("the turn was made", named("i"))
}

func steerDropBlocked(t *trial) {
	i := t.begin("i")
	bad := t.send(i.Key, text("bad")).MessageID
	t.send(i.Key, text("good"))
	t.block(t.fetchOne(named("i")), true)
	got := t.steer(i.Key, provider.SteerDrop, dropping(bad))
	t.checkf(got.Blocked != nil && got.Blocked.Count == 1 && got.InboxMessages == 1, "got %+v, want it Blocked with one message", got)
	t.noTurn("it is Blocked", named("i"))
	t.steer(i.Key, provider.SteerUnblock)
	is(t, "the messages after Unblock", t.fetchOne(named("i")).payloads(), "good")
	t.steer(i.Key, provider.SteerSuspend)
	id := t.send(i.Key, text("m")).MessageID
	is(t, "the status", t.steer(i.Key, provider.SteerDrop, dropping(id)).Status, provider.StatusSuspended)
}
