package validations

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func sendCases() []testCase {
	const order = "Messages come in order (VisibleAt, ID), at most MaxMessages and MaxBytes per " +
		"instance, but at least one. More reports that further messages are visible."
	const accepts = "Suspended, Blocked and not yet started instances accept messages."
	return []testCase{
		{name: "first-in-first-out", run: sendOrder, rule: order},
		{name: "visible-order", run: sendDelayedOrder, rule: order},
		{name: "timers-in-order", run: sendTimerOrder, rule: order},
		{name: "more-by-default", run: sendMoreDefault, rule: order},
		{name: "more-by-count", run: sendMoreCount, rule: order},
		{name: "more-by-bytes", run: sendMoreBytes, rule: order},
		{name: "unknown", run: sendUnknown, rule: "It returns [ErrNotFound] for an instance that never existed"},
		{name: "ended", run: sendEnded, rule: "and [ErrEnded] for one that has ended."},
		{name: "by-old-key", run: sendOldKey, rule: "An instance has an ID chosen by a caller and a Key that is never reused."},
		{name: "suspended", run: sendSuspended, rule: accepts},
		{name: "blocked", run: sendBlocked, rule: accepts},
		{name: "before-start", run: sendBeforeStart, rule: accepts},
		{name: "version-stays", run: sendVersion, rule: "An instance row holds Version, the ID of the last commit that changed it."},
		{
			name: "race-with-close", run: sendRaceClose,
			rule: "Sending is serialized with closing: after success, the message is in the inbox of an instance that has not closed.",
		},
		{name: "inbox-full", run: sendFull, slow: true, rule: "Beyond [MaxInboxMessages] or [MaxInboxBytes] it returns [ErrInboxFull]."},
		{name: "inbox-full-of-bytes", run: sendBytes, slow: true, rule: "MaxInboxBytes: their bytes"},
		{name: "by-key-or-id", run: sendNamed, rule: "SendRequest names the receiver by Key, or by ID when Key is zero."},
		{name: "fields", run: sendFields, rule: "Message.EventID: the event of that execution that it answers; 0: none"},
		{
			name: "kinds", run: sendKinds,
			rule: "MessageKind is a small number that the engine gives a message. Providers store and return it and never act on it.",
		},
	}
}

func sendOrder(t *trial) {
	i := t.begin("i")
	want := make([]string, 100)
	var last int64
	for n := range want {
		word := fmt.Sprint("m", n)
		want[n] = word
		res := t.send(i.Key, text(word))
		t.checkf(res.Key == i.Key && res.MessageID > last, "message %d has ID %d, want more than %d", n, res.MessageID, last)
		last = res.MessageID
	}
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == strings.Join(want, " ") && !u.More, "got %s, more %v, want %s and no more", u.payloads(), u.More, strings.Join(want, " "))
	is(t, "the ID of the last message", u.Messages[99].ID, last)
}

// Messages come in the order of their visibility. On a slow machine the first may be visible when the second is sent.
func sendDelayedOrder(t *trial) {
	i := t.begin("i")
	late := text("late")
	late.Delay = short
	t.send(i.Key, late)
	t.send(i.Key, text("early"))
	one := t.fetchOne(named("i"), func(r *provider.FetchTurnsRequest) { r.MaxMessages = 1 })
	t.commit(commitOf(one))
	two := t.fetchOne(named("i"))
	seen := map[string]provider.Time{one.payloads(): one.Messages[0].VisibleAt, two.payloads(): two.Messages[0].VisibleAt}
	t.checkf(len(seen) == 2 && seen["early"] > 0 && seen["late"] >= i.UpdatedAt.Add(short),
		"messages became visible at %v, want late after its delay of %v", seen, short)
	t.checkf(one.Messages[0].VisibleAt <= two.Messages[0].VisibleAt, "got %q first, visible at %v, want the order of visibility", one.payloads(), seen)
}

// Timers and messages come in one order: by the time when they become visible, then by the time when they were stored.
func sendTimerOrder(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	now := u.Instance.CreatedAt
	req := commitOf(u)
	req.Timers = []provider.Timer{
		{EventID: 3, Due: now.Add(3 * short), Payload: []byte("due-last")},
		{EventID: 1, Due: now.Add(-short), Payload: []byte("due-first")},
		{EventID: 2, Due: now.Add(-short), Payload: []byte("due-second")},
	}
	t.commit(req)
	t.send(i.Key, text("message"))
	t.pass(4 * short)
	got := make([]provider.Message, 0, 4)
	for range cap(got) {
		u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.MaxMessages = 1 })
		got = append(got, u.Messages...)
		t.commit(commitOf(u))
	}
	// On a slow machine the message may come when all timers are due.
	order := slices.IsSortedFunc(got, func(a, b provider.Message) int { return cmp.Compare(a.VisibleAt, b.VisibleAt) })
	t.checkf(order && strings.HasPrefix(payloads(got), "due-first due-second "),
		"got %s, want the timers by due time, each before later messages", payloads(got))
}

func sendMoreDefault(t *trial) {
	i := t.begin("i")
	for n := range 3 {
		m := provider.NewMessage{Kind: 7, Payload: make([]byte, provider.MaxFetchBytes/2)}
		m.Payload[0] = byte(n)
		t.send(i.Key, m)
	}
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 2 && u.More, "got %d messages of %d bytes, more %v, want 2 and more", len(u.Messages), provider.MaxFetchBytes/2, u.More)
	t.commit(commitOf(u))
	u = t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 1 && u.Messages[0].Payload[0] == 2 && !u.More,
		"got %d messages, more %v, want the third one and no more", len(u.Messages), u.More)
}

func sendMoreCount(t *trial) {
	i := t.begin("i")
	for _, word := range []string{"a", "b", "c"} {
		t.send(i.Key, text(word))
	}
	two := func(r *provider.FetchTurnsRequest) { r.MaxMessages = 2 }
	u := t.fetchOne(named("i"), two)
	t.checkf(u.payloads() == "a b" && u.More, "got %q, more %v, want \"a b\" and more", u.payloads(), u.More)
	t.commit(commitOf(u))
	u = t.fetchOne(named("i"), two)
	t.checkf(u.payloads() == "c" && !u.More, "got %q, more %v, want \"c\" and no more", u.payloads(), u.More)
}

func sendMoreBytes(t *trial) {
	i := t.begin("i")
	for _, word := range []string{"aaaaaaaa", "bb", "cc", "dd"} {
		t.send(i.Key, text(word))
	}
	few := func(r *provider.FetchTurnsRequest) { r.MaxBytes = 4 }
	u := t.fetchOne(named("i"), few)
	t.checkf(u.payloads() == "aaaaaaaa" && u.More, "got %q, more %v, want at least one message, and more", u.payloads(), u.More)
	t.commit(commitOf(u))
	u = t.fetchOne(named("i"), few)
	t.checkf(u.payloads() == "bb cc" && u.More, "got %q, more %v, want \"bb cc\" and more", u.payloads(), u.More)
}

func sendUnknown(t *trial) {
	_, err := t.Send(t.ctx, provider.SendRequest{ID: "nobody", Message: text("m")})
	t.want(err, provider.ErrNotFound)
	_, err = t.Send(t.ctx, provider.SendRequest{Key: unique(), Message: text("m")})
	t.want(err, provider.ErrNotFound)
}

func sendEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Message: text("m")})
		t.want(err, provider.ErrEnded)
		_, err = t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
		t.want(err, provider.ErrEnded)
	})
}

func sendOldKey(t *trial) {
	old := t.end(t.begin("i"))
	i := t.create("i", replace)
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: old.Key, Message: text("m")})
		t.want(err, provider.ErrEnded)
	})
	res, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Message: text("m")})
	t.ok(err)
	t.checkf(res.Key == i.Key, "sent to %s, want the new instance", res.Key)
}

func sendSuspended(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerSuspend)
	t.send(i.Key, text("m"))
	t.noTurn("the instance is suspended", named("i"))
	t.steer(i.Key, provider.SteerResume)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m", "got %q, want \"m\"", u.payloads())
}

func sendBlocked(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), true)
	t.send(i.Key, text("m"))
	t.steer(i.Key, provider.SteerUnblock)
	u := t.fetchOne()
	t.checkf(u.payloads() == "start m", "got %q, want \"start m\"", u.payloads())
}

func sendBeforeStart(t *trial) {
	t.create("i")
	_, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Message: text("m")})
	t.ok(err)
	u := t.fetchOne()
	t.checkf(u.payloads() == "start m", "got %q, want \"start m\"", u.payloads())
}

func sendVersion(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	is(t, "the version after a message", t.get(i.Key).Version, i.Version)
	t.commit(next(i, "event"))
}

func sendRaceClose(t *trial) {
	i := t.begin("i")
	var accepted, consumed atomic.Int64
	t.parallel(5, func(n int) {
		if n == 0 {
			consumed.Add(closeEventually(t, i))
			return
		}
		for range 50 {
			_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
			if err != nil {
				t.want(err, provider.ErrEnded)
				return
			}
			accepted.Add(1)
		}
	})
	is(t, "messages consumed, against those accepted", consumed.Load(), accepted.Load())
}

// closeEventually commits turns until a close that consumes all messages succeeds. It returns how many messages it consumed.
func closeEventually(t *trial, i provider.Instance) (consumed int64) {
	for round := 0; ; round++ {
		req := next(t.get(i.Key))
		if list := t.fetch(named(i.ID), func(r *provider.FetchTurnsRequest) { r.Wait = short }); len(list) > 0 {
			req = commitOf(list[0])
		}
		if round > 2 {
			req.Status = provider.StatusCompleted
		}
		_, err := t.CommitTurn(t.ctx, req)
		if errors.Is(err, provider.ErrInboxNotEmpty) {
			req.Status = provider.StatusRunning
			_, err = t.CommitTurn(t.ctx, req)
		}
		t.ok(err)
		consumed += int64(len(req.Consumed))
		if req.Status.Ended() {
			return consumed
		}
	}
}

func sendFull(t *trial) {
	sender := t.begin("sender")
	i := t.fill(t.begin("i"), provider.MaxInboxMessages-3)
	fillsExactly(t, i, sender, text("m"))
	sends := []provider.OutMessage{{Key: i.Key}}
	inside := next(i) // the limit is for outside senders, not for turns
	inside.Sends = sends
	inside.Timers = []provider.Timer{{EventID: 1, Due: 1}}
	t.commit(inside)
	t.checkf(t.get(i.Key).InboxMessages == provider.MaxInboxMessages+2, "%d messages, want %d", t.get(i.Key).InboxMessages, provider.MaxInboxMessages+2)
	u := t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == provider.MaxFetchMessages && u.More, "got %d messages, more %v, want the maximum and more", len(u.Messages), u.More)
	t.commit(commitOf(u))
	t.send(i.Key, text("m"))
}
