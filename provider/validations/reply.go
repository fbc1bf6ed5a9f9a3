package validations

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

func replyCases() []testCase {
	const (
		one      = "Replies say what became of a message. The sender gets one of them."
		limits   = "With Replies the limits of [Provider.Send] apply to the message."
		accepted = "A start that is not refused brings the sender its Accepted."
	)
	return []testCase{
		{name: "start-accepted", run: startAccepted, rule: accepted},
		{name: "start-accepted-again", run: startAcceptedAgain, rule: "Start.Accepted: put there otherwise, also for a repeat of the RequestID"},
		{name: "reply", run: replyToEach, rule: one},
		{name: "reply-to-self", run: replyToSelf, rule: one},
		{name: "reply-of-a-full-inbox", run: replyFull, slow: true, rule: limits},
		{
			name: "reply-or-refusal", run: replyOrRefusal,
			rule: "OutMessage.Replies: instead of Refused; nil: the limits of an inbox do not apply",
		},
	}
}

func cleanReplies() []testCase {
	return []testCase{
		{
			name: "reply-to-an-ended-sender", broad: true, run: replyToEnded,
			rule: "If the sender ends in the same commit, it gets no Accepted, and any other one goes to the dead letters.",
		},
		{
			name: "start-accepted-for-an-ended-sender", broad: true, run: startAcceptedEnded,
			rule: "Start.Accepted: put there otherwise, also for a repeat of the RequestID, unless the sender ends in the same commit; nil: nothing",
		},
	}
}

// answered returns a start whose sender is told what becomes of it.
func answered(i provider.Instance, id string) provider.Start {
	start := startOf(i, id)
	start.Create.Parent = provider.Parent{}
	start.Refused, start.Accepted = text("refused"), new(text("accepted"))
	start.Refused.EventID, start.Accepted.EventID = 1, 2
	return start
}

func startAccepted(t *trial) {
	t.begin("used")
	i := t.begin("i")
	silent, first, second := answered(i, "silent"), answered(i, "first"), answered(i, "second")
	silent.Accepted = nil
	second.Accepted.Payload = []byte("too")
	req := next(i)
	req.Starts = []provider.Start{silent, first, answered(i, "used"), second}
	t.commit(req)
	t.commit(req)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "accepted refused too", "the sender got %q, want a message for each start in order", u.payloads())
	for n, event := range []int64{2, 1, 2} {
		is(t, "the event of "+string(u.Messages[n].Payload), u.Messages[n].EventID, event)
	}
	for _, start := range []provider.Start{silent, first, second} {
		is(t, "the messages to "+start.Create.ID, t.get(start.Create.Key).InboxMessages, 1)
	}
}

func startAcceptedAgain(t *trial) {
	i := t.begin("i")
	once := answered(i, "once")
	once.Create.RequestID = "r"
	req := next(i)
	req.Starts = []provider.Start{once}
	t.commit(req)
	i.Version = req.Commit
	again := answered(i, "once")
	again.Create.RequestID = "r"
	again.Accepted.Payload = []byte("again")
	req = next(i)
	req.Starts = []provider.Start{again}
	t.commit(req)
	is(t, "the replies", t.fetchOne(named("i")).payloads(), "accepted again")
	is(t, "the messages to the instance", t.get(once.Create.Key).InboxMessages, 1)
}

func startAcceptedEnded(t *trial) {
	t.begin("used")
	i := t.begin("i")
	req := next(i)
	req.Status = provider.StatusCompleted
	first := answered(i, "first")
	req.Starts = []provider.Start{first, answered(i, "used")}
	t.commit(req)
	is(t, "the messages to the instance", t.get(first.Create.Key).InboxMessages, 1)
	is(t, "the messages to the sender", t.get(i.Key).InboxMessages, 0)
	letters := t.letters()
	t.mustf(len(letters) == 1 && string(letters[0].Payload) == "refused", "%d dead letters, want the refusal alone", len(letters))
}

func replies() *provider.Replies {
	r := &provider.Replies{Accepted: text("accepted"), Gone: text("gone"), Ended: text("ended"), Full: text("full")}
	r.Accepted.EventID, r.Gone.EventID, r.Ended.EventID, r.Full.EventID = 1, 2, 3, 4
	return r
}

func replyToEach(t *trial) {
	to, ended, i := t.begin("to"), t.end(t.begin("over")), t.begin("i")
	req := next(i)
	for _, out := range []provider.OutMessage{{Key: ended.Key}, {ID: "nobody"}, {ID: "to"}, {Key: unique()}, {Key: to.Key}} {
		out.Message, out.Replies = text("m"), replies()
		req.Sends = append(req.Sends, out)
	}
	t.commit(req)
	t.commit(req)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "ended gone accepted gone accepted", "the sender got %q, want a reply to each message in order", u.payloads())
	for n, event := range []int64{3, 2, 1, 2, 1} {
		is(t, "the event of reply "+string(u.Messages[n].Payload), u.Messages[n].EventID, event)
	}
	is(t, "the messages to the receiver", t.fetchOne(named("to")).payloads(), "m m")
}

func replyToSelf(t *trial) {
	i := t.begin("i")
	req := next(i)
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: text("m"), Replies: replies()}}
	t.commit(req)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m accepted")
}

// fill sends so many messages to an instance.
func (t *trial) fill(i provider.Instance, messages int) provider.Instance {
	sends := make([]provider.OutMessage, provider.MaxCommitRows)
	for n := range sends {
		sends[n] = provider.OutMessage{Key: i.Key}
	}
	for left := messages; left > 0; left -= len(sends) {
		req := next(i)
		req.Sends = sends[:min(left, len(sends))]
		t.commit(req)
		i.Version = req.Commit
	}
	return i
}

func replyFull(t *trial) {
	to, i := t.begin("to"), t.begin("i")
	t.fill(to, provider.MaxInboxMessages-1)
	req := next(i)
	out := provider.OutMessage{Key: to.Key, Message: text("m"), Replies: replies()}
	req.Sends = []provider.OutMessage{out, out, {Key: to.Key, Message: text("answer")}}
	t.commit(req)
	is(t, "the replies", t.fetchOne(named("i")).payloads(), "accepted full")
	is(t, "the messages", t.get(to.Key).InboxMessages, provider.MaxInboxMessages+1)
}

func replyToEnded(t *trial) {
	to, i := t.begin("to"), t.begin("i")
	req := next(i)
	req.Status = provider.StatusCompleted
	for _, out := range []provider.OutMessage{{Key: to.Key}, {ID: "nobody"}, {Key: i.Key}} {
		out.Message, out.Replies = text("m"), replies()
		req.Sends = append(req.Sends, out)
	}
	t.commit(req)
	is(t, "the messages to the receiver", t.fetchOne(named("to")).payloads(), "m")
	letters := t.letters()
	words := make([]string, 0, len(letters))
	for _, l := range letters {
		words = append(words, string(l.Payload))
	}
	is(t, "the dead letters", strings.Join(words, " "), "gone ended")
}

func replyOrRefusal(t *trial) {
	to, i := t.begin("to"), t.begin("i")
	refused := text("refused")
	req := next(i)
	req.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m"), Replies: replies(), Refused: &refused}}
	t.refused(req, provider.ErrInvalid)
}
