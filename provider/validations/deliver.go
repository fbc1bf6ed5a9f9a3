package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

func deliverCases() []testCase {
	const delivered = "Sends and Starts are recorded with the commit. They are delivered at least once, in order per (sender, target), and deduplicated."
	const refusal = "A refusal (ID or Key in use, target gone or ended) comes back as the message that the caller gave for it, never as an error of this call."
	const policy = "Start.Create: Policy IDReject or IDReplaceEnded, no First"
	return []testCase{
		{name: "sends-in-order", run: deliverOrder, rule: delivered},
		{name: "send-to-self", run: deliverSelf, rule: delivered},
		{name: "start", run: deliverStart, rule: delivered},
		{name: "once", run: deliverOnce, rule: delivered},
		{name: "nothing-of-a-refused-commit", run: deliverNothing, rule: "A refused commit changes nothing."},
		{name: "send-refused-gone", run: deliverRefusedGone, rule: refusal},
		{name: "send-refused-ended", run: deliverRefusedEnded, rule: refusal},
		{name: "start-refused", run: deliverStartRefused, rule: "Start.Refused: put into the sender's inbox if the ID or Key is in use"},
		{name: "start-replaces", run: deliverStartReplaces, rule: "ReplaceEnded creates a new key if the old instance has ended"},
		{
			name: "refused-without-message", run: deliverDropped,
			rule: "OutMessage.Refused: put into the sender's inbox if the target is gone or ended; nil: dropped and counted",
		},
		{name: "by-key-or-id", run: deliverNamed, rule: "OutMessage is a message to another instance, named by Key, or by ID when Key is zero."},
		{name: "start-policy", run: startPolicy, rule: policy},
		{name: "start-with-a-first-turn", run: startFirst, rule: policy},
	}
}

func deliverOrder(t *trial) {
	t.begin("to")
	var want []string
	for round := range 2 {
		t.begin(fmt.Sprint("from", round), func(r *provider.CommitTurnRequest) {
			for n := range 20 {
				word := fmt.Sprint(round, "-", n)
				want = append(want, word)
				r.Sends = append(r.Sends, provider.OutMessage{ID: "to", Message: text(word)})
			}
		})
	}
	u := t.fetchOne(named("to"))
	t.checkf(u.payloads() == strings.Join(want, " "), "got %s, want %s", u.payloads(), strings.Join(want, " "))
}

func deliverSelf(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Sends = []provider.OutMessage{{Key: r.Key, Message: text("self")}}
	})
	u := t.fetchOne(named("i"))
	t.checkf(u.Instance.Key == i.Key && u.payloads() == "self", "the inbox has %q, want \"self\" in the sender's own", u.payloads())
}

func deliverStart(t *trial) {
	i := t.begin("i")
	req := next(i)
	start := startOf(i, "child")
	req.Starts = []provider.Start{start}
	t.commit(req)
	u := t.fetchOne()
	child := u.Instance
	t.checkf(child.ID == "child" && child.Key == start.Create.Key && child.Version == start.Create.Commit,
		"child %+v, want the ID, key and version of the start", child)
	t.checkf(child.Parent == start.Create.Parent && u.payloads() == "start",
		"parent %+v, messages %q, want %+v and \"start\"", child.Parent, u.payloads(), start.Create.Parent)
	is(t, "messages to the parent of a started child", t.get(i.Key).InboxMessages, 0)
}

func deliverOnce(t *trial) {
	to := t.begin("to")
	i := t.begin("i")
	req := next(i)
	req.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m")}}
	req.Starts = []provider.Start{startOf(i, "child")}
	t.parallel(4, func(int) { t.commit(req) })
	u := t.fetchOne(named("to"))
	t.checkf(u.payloads() == "m", "delivered %q, want \"m\"", u.payloads())
	t.fetchOne()
	is(t, "messages to the parent after a repeated start", t.get(i.Key).InboxMessages, 0)
}

func deliverNothing(t *trial) {
	to := t.begin("to")
	i := t.begin("i")
	req := next(i)
	req.Expected = unique()
	req.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m")}}
	req.Starts = []provider.Start{startOf(i, "child")}
	t.unchanged(to.Key, func() { t.refused(req, provider.ErrConflict) })
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "child"})
	t.want(err, provider.ErrNotFound)
}

// checkSendRefused commits a send that cannot be delivered and checks the refusal.
func checkSendRefused(t *trial, to provider.OutMessage) {
	refused := text("refused")
	refused.EventID = 9
	to.Message, to.Refused = text("m"), &refused
	t.begin("sender", func(r *provider.CommitTurnRequest) { r.Sends = []provider.OutMessage{to} })
	u := t.fetchOne(named("sender"))
	t.checkf(u.payloads() == "refused" && u.Messages[0].EventID == 9, "the sender got %+v, want the refusal of event 9", u.Messages)
}

func deliverRefusedGone(t *trial) { checkSendRefused(t, provider.OutMessage{ID: "nobody"}) }

func deliverRefusedEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.unchanged(i.Key, func() { checkSendRefused(t, provider.OutMessage{Key: i.Key}) })
}

func deliverStartRefused(t *trial) {
	used := t.begin("used")
	t.unchanged(used.Key, func() {
		i := t.begin("i")
		req := next(i, "tried")
		req.Starts = []provider.Start{startOf(i, "used")}
		t.commit(req)
		u := t.fetchOne(named("i"))
		t.checkf(u.payloads() == "refused", "the sender got %q, want \"refused\"", u.payloads())
	})
}

func deliverStartReplaces(t *trial) {
	old := t.end(t.begin("child"))
	i := t.begin("i")
	req := next(i)
	start := startOf(i, "child")
	start.Create.Policy = provider.IDReplaceEnded
	req.Starts = []provider.Start{start}
	t.commit(req)
	u := t.fetchOne()
	t.checkf(u.Instance.ID == "child" && u.Instance.Key != old.Key, "got %+v, want the child with a new key", u.Instance)
}

func deliverDropped(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m")}}
	})
	is(t, "messages to the sender", i.InboxMessages, 0)
	if c, ok := provider.As[provider.Counter](t.store); ok {
		t.checkf(c.Counters().Dropped == 1, "%d dropped messages were counted, want 1", c.Counters().Dropped)
	}
}
