package validations

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// The sentences about the messages of a start.
const (
	startsWith   = "Messages are delivered in the same transaction, in order and after the start message."
	startsJoin   = "With UseExisting they go to the existing instance, under the limits of Send."
	startsRepeat = "A call that repeats the RequestID of an earlier one delivers nothing and returns the instance, even one that has ended since."
	startsKnown  = "An instance remembers at least the last [MaxRequests] requests with which it got Messages."
)

func startMessageCases() []testCase {
	return []testCase{
		{name: "messages", run: startMessages, rule: startsWith},
		{name: "messages-of-a-refused-start", run: startMessagesRefused, rule: startsWith},
		{name: "messages-to-an-existing-instance", run: startMessagesExisting, rule: startsJoin},
		{name: "messages-to-a-full-inbox", run: startMessagesFull, slow: true, rule: startsJoin},
		{name: "messages-to-an-ended-instance", run: startMessagesEnded, rule: "If it has ended, the call returns [ErrEnded]."},
		{name: "messages-repeated", run: startMessagesRepeated, rule: startsRepeat},
		{name: "messages-race-of-one-request", run: startMessagesRace, rule: startsRepeat},
		{name: "messages-remembered", run: startMessagesRemembered, slow: true, rule: startsKnown},
		{name: "messages-without-a-request", run: startMessagesEach, rule: "Without a RequestID, each call delivers."},
		{name: "messages-of-a-first-turn", run: startMessagesFirst, rule: "A turn in First has consumed them, too."},
		{name: "messages-of-a-first-turn-at-once", run: startMessagesDelay, rule: "Messages have no Delay then, either."},
	}
}

func deliverStartMessages() []testCase {
	return []testCase{{name: "start-with-messages", run: startMessagesOfChild, rule: startsWith}}
}

func transactionStartMessages() []testCase {
	return []testCase{{name: "messages-of-a-start", run: startMessagesIn, rule: startsJoin, lacks: lacking[provider.Transactor], within: true}}
}

func unknownStartMessages() []testCase {
	return []testCase{{name: "messages-of-a-start", run: unknownStartMessage, rule: startsRepeat}}
}

// messages sets what is delivered with a start.
func messages(words ...string) func(*provider.CreateRequest) {
	return func(r *provider.CreateRequest) {
		for _, w := range words {
			r.Messages = append(r.Messages, text(w))
		}
	}
}

// join starts an instance or delivers messages to the one that has the ID.
func join(id, request string, words ...string) provider.CreateRequest {
	req := createRequest(id)
	req.Policy, req.RequestID = provider.IDUseExisting, request
	messages(words...)(&req)
	return req
}

// joins makes the call and checks that it finds the instance.
func (t *trial) joins(key provider.UUID, req provider.CreateRequest) {
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	t.checkf(!res.Created && res.Instance.Key == key, "created %v, key %s, want false and %s", res.Created, res.Instance.Key, key)
}

func startMessages(t *trial) {
	i := t.create("i", messages("a", "b"), func(r *provider.CreateRequest) {
		r.Messages[1].EventID, r.Messages[1].EngineLevel = 9, 2
		late := text("late")
		late.Delay = long
		r.Messages = append(r.Messages, late)
	})
	t.checkf(i.InboxMessages == 4 && i.EngineLevel == 2 && i.ReadyAt == i.CreatedAt, "got %+v, want 4 messages, level 2, ready now", i)
	u := t.fetchOne(upTo(2))
	t.mustf(u.payloads() == "start a b", "the inbox has %q, want \"start a b\"", u.payloads())
	is(t, "the event of the last message", u.Messages[2].EventID, 9)
}

func startMessagesRefused(t *trial) {
	old := t.begin("i")
	t.unchanged(old.Key, func() {
		req := createRequest("i")
		messages("m")(&req)
		for _, policy := range []provider.IDPolicy{provider.IDReject, provider.IDReplaceEnded} {
			req.Policy = policy
			_, err := t.Create(t.ctx, req)
			t.want(err, provider.ErrExists)
		}
	})
}

func startMessagesExisting(t *trial) {
	i := t.begin("i")
	req := join("i", "r", "a", "b")
	req.Messages[1].EngineLevel = 2
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	t.checkf(!res.Created && res.Instance.Key == i.Key && res.Instance.InboxMessages == 2 && res.Instance.Version == i.Version,
		"got %+v, want the existing instance with 2 messages and its version", res)
	is(t, "the engine level", res.Instance.EngineLevel, 2)
	u := t.fetchOne(named("i"), upTo(2))
	is(t, "the messages", u.payloads(), "a b")
}

func startMessagesFull(t *trial) {
	i := t.fill(t.begin("i"), provider.MaxInboxMessages-1)
	t.unchanged(i.Key, func() {
		_, err := t.Create(t.ctx, join("i", "r", "a", "b"))
		t.want(err, provider.ErrInboxFull)
	})
	t.joins(i.Key, join("i", "r", "c"))
	is(t, "the messages", t.get(i.Key).InboxMessages, provider.MaxInboxMessages)
}

func startMessagesEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.unchanged(i.Key, func() {
		_, err := t.Create(t.ctx, join("i", "r", "m"))
		t.want(err, provider.ErrEnded)
		t.joins(i.Key, join("i", "r"))
	})
}

func startMessagesRepeated(t *trial) {
	first := join("i", "first", "a")
	first.Name = "setup-i"
	res, err := t.Create(t.ctx, first)
	t.ok(err)
	key := res.Instance.Key
	second := join("i", "second", "b")
	t.joins(key, second)
	other := t.create("other", func(r *provider.CreateRequest) { r.Name = "setup-other" })
	t.joins(other.Key, join("other", "second", "own")) // the same words of another instance
	again := func() {
		res, err := t.Create(t.ctx, first)
		t.ok(err)
		t.checkf(res.Created && res.Instance.Key == key, "created %v, key %s, want true and %s", res.Created, res.Instance.Key, key)
		t.joins(key, second)
	}
	t.unchanged(key, again)
	u := t.fetchOne(named("i"))
	is(t, "the messages", u.payloads(), "start a b")
	t.commit(commitOf(u))
	t.unchanged(key, again)
	t.end(t.get(key))
	t.unchanged(key, again)
	is(t, "the messages of the other instance", t.fetchOne(named("other")).payloads(), "start own")
}

func startMessagesRace(t *trial) {
	i := t.begin("i")
	t.parallel(16, func(int) { t.joins(i.Key, join("i", "r", "m")) })
	is(t, "the messages", t.get(i.Key).InboxMessages, 1)
}

func startMessagesRemembered(t *trial) {
	i := t.begin("i")
	t.joins(i.Key, join("i", "0", "m"))
	const callers = 9 // each makes the same number of requests, MaxRequests-1 together
	t.parallel(callers, func(n int) {
		for k := range (provider.MaxRequests - 1) / callers {
			t.joins(i.Key, join("i", fmt.Sprint(n, "-", k), "m"))
		}
	})
	is(t, "the messages", t.get(i.Key).InboxMessages, provider.MaxRequests)
	t.unchanged(i.Key, func() { t.joins(i.Key, join("i", "0", "m")) })
}

func startMessagesEach(t *trial) {
	i := t.begin("i")
	t.joins(i.Key, join("i", "", "a"))
	t.joins(i.Key, join("i", "", "b"))
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "a b")
}

func startMessagesFirst(t *trial) {
	req := firstRequest("i")
	messages("a", "b")(&req)
	req.Policy, req.RequestID, req.Messages[0].EngineLevel = provider.IDUseExisting, "r", 2
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	waiting := int64(0)
	if !res.Begun {
		waiting = 3
		u := t.fetchOne(named("i"), upTo(2))
		is(t, "the messages", u.payloads(), "start a b")
		t.commit(commitOf(u))
	}
	t.checkf(res.Instance.InboxMessages == waiting && res.Instance.EngineLevel == 2, "got %+v, want %d messages at level 2", res.Instance, waiting)
	again := req
	again.Key, again.Commit, again.RequestID = newKey("i"), unique(), "another"
	again.First = firstTurn(again)
	t.joins(req.Key, again)
	is(t, "the messages to the existing instance", t.fetchOne(named("i"), upTo(2)).payloads(), "a b")
}

func startMessagesDelay(t *trial) {
	req := firstRequest("i")
	messages("a")(&req)
	req.Messages[0].Delay = short
	_, err := t.Create(t.ctx, req)
	t.want(err, provider.ErrInvalid)
}

func startMessagesOfChild(t *trial) {
	i := t.begin("i")
	req := next(i)
	start := startOf(i, "child")
	messages("a", "b")(&start.Create)
	req.Starts = []provider.Start{start}
	t.commit(req)
	t.commit(req)
	is(t, "the messages of the child", t.fetchOne().payloads(), "start a b")
}

func startMessagesIn(t *trial) {
	i := t.begin("i")
	var made provider.Instance
	for _, commit := range []bool{false, true} {
		inTransaction(t, commit, func(tx provider.Tx) {
			res, err := transactor(t).CreateIn(t.ctx, tx, join("i", "r", "m"))
			t.ok(err)
			is(t, "the messages that the transaction sees", res.Instance.InboxMessages, 1)
			made = createIn(t, tx, "new", messages("a")).Instance
		})
		want := int64(0)
		if commit {
			want = 1
		}
		is(t, "the messages after the transaction", t.get(i.Key).InboxMessages, want)
	}
	is(t, "the messages of the new instance", t.get(made.Key).InboxMessages, 2)
	t.unchanged(i.Key, func() { t.joins(i.Key, join("i", "r", "m")) })
}

func unknownStartMessage(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh())
		req := join(i.ID, fresh(), "m")
		return cut{
			call:  func(ctx context.Context) error { _, err := t.Create(ctx, req); return err },
			looks: func() string { return t.picture(i.Key).text() },
			done:  func() { is(t, "the messages", t.get(i.Key).InboxMessages, 1) },
		}
	})
}
