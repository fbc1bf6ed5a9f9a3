package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// sendFields checks that every field of a message comes back as sent, whatever its kind.
func sendFields(t *trial) {
	i := t.begin("i")
	sent := provider.NewMessage{Kind: 7, Execution: 4, EventID: 1 << 40, Payload: []byte("p")}
	id := t.send(i.Key, sent).MessageID
	t.send(i.Key, provider.NewMessage{Kind: 7})
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 2, "%d messages, want 2", len(u.Messages))
	m, bare := u.Messages[0], u.Messages[1]
	t.checkf(m.ID == id && m.Execution == 4 && m.EventID == 1<<40 && string(m.Payload) == "p", "got %+v, want the fields as sent", m)
	t.checkf(bare.Execution == 0 && bare.EventID == 0 && len(bare.Payload) == 0, "got %+v, want empty fields", bare)
}

func sendKinds(t *trial) {
	i := t.begin("i")
	req := next(i)
	for kind := range 256 {
		m := provider.NewMessage{Kind: provider.MessageKind(kind), Payload: fmt.Append(nil, kind)}
		req.Sends = append(req.Sends, provider.OutMessage{Key: i.Key, Message: m})
	}
	t.commit(req)
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 256, "%d messages, want 256", len(u.Messages))
	for _, m := range u.Messages {
		t.checkf(string(m.Payload) == fmt.Sprint(m.Kind) && !m.Timer, "message %+v, want its kind as payload and no timer", m)
	}
	is(t, "the status after messages of every kind", t.get(i.Key).Status, provider.StatusRunning)
}

// sendBytes fills an inbox with large messages up to its limit of bytes.
// sendBytes fills the inbox up to exactly the limit by each call to which it applies.
func sendBytes(t *trial) {
	i, sender := t.begin("i"), t.begin("sender")
	const size, each, left = 2 << 20, 15, 3
	large := provider.NewMessage{Payload: make([]byte, size)}
	for fill := provider.MaxInboxBytes/size - left; fill > 0; fill -= each {
		req := next(i)
		for range min(fill, each) {
			req.Sends = append(req.Sends, provider.OutMessage{Key: i.Key, Message: large})
		}
		t.commit(req)
		i.Version = req.Commit
	}
	fillsExactly(t, i, sender, large)
	t.commit(commitOf(t.fetchOne(named("i"), func(r *provider.FetchTurnsRequest) { r.MaxMessages = 1 })))
	t.send(i.Key, text("m"))
}

// fillsExactly puts the last three messages into an inbox, each by another call, and checks that no call adds one more.
func fillsExactly(t *trial, i, sender provider.Instance, m provider.NewMessage) {
	t.send(i.Key, m)
	request := join(i.ID, "last but one")
	request.Messages = []provider.NewMessage{m}
	t.joins(i.Key, request)
	req := next(sender)
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: m, Replies: replies()}, {Key: i.Key, Message: text("m"), Replies: replies()}}
	t.commit(req)
	is(t, "the replies to the last message and one more", t.fetchOne(named(sender.ID)).payloads(), "accepted full")
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
		t.want(err, provider.ErrInboxFull)
		_, err = t.Create(t.ctx, join(i.ID, "one more", "m"))
		t.want(err, provider.ErrInboxFull)
	})
}

// commitOrder checks that a send does not find the child that the same commit starts.
func commitOrder(t *trial) {
	i := t.begin("i")
	req := next(i)
	req.Sends = []provider.OutMessage{{ID: "child", Message: text("m")}}
	req.Starts = []provider.Start{startOf(i, "child")}
	t.commit(req)
	u := t.fetchOne()
	t.checkf(u.Instance.ID == "child" && u.payloads() == "start", "%s got %q, want child with \"start\"", u.Instance.ID, u.payloads())
}

// startPolicy checks that a start never returns an existing instance as its child.
func startPolicy(t *trial) {
	i := t.begin("i")
	used := t.begin("used")
	start := startOf(i, "used")
	start.Create.Policy = provider.IDUseExisting
	req := next(i)
	req.Starts = []provider.Start{start}
	t.unchanged(used.Key, func() { t.refused(req, provider.ErrInvalid) })
}

// commitRows checks that each list of a commit is bounded.
func commitRows(t *trial) {
	const n = provider.MaxCommitRows + 1
	i := t.begin("i")
	lists := []func(*provider.CommitTurnRequest){
		func(r *provider.CommitTurnRequest) { r.Events = make([][]byte, n) },
		func(r *provider.CommitTurnRequest) { r.Consumed = make([]int64, n) },
		func(r *provider.CommitTurnRequest) { r.Tasks = make([]provider.NewTask, n) },
		func(r *provider.CommitTurnRequest) { r.Timers = make([]provider.Timer, n) },
		func(r *provider.CommitTurnRequest) { r.Sends = make([]provider.OutMessage, n) },
		func(r *provider.CommitTurnRequest) { r.Starts = make([]provider.Start, n) },
	}
	t.unchanged(i.Key, func() {
		for kind, fill := range lists {
			req := next(i)
			fill(&req)
			_, err := t.CommitTurn(t.ctx, req)
			t.checkf(err != nil, "list %d with %d rows was accepted, want an error", kind, n)
			t.want(err, provider.ErrTooLarge)
		}
	})
	req := next(i)
	for event := range provider.MaxCommitRows {
		req.Timers = append(req.Timers, provider.Timer{EventID: int64(event + 1), Due: 1 << 60})
	}
	t.commit(req)
	t.checkf(t.get(i.Key).InboxMessages == provider.MaxCommitRows, "%d timers, want %d", t.get(i.Key).InboxMessages, provider.MaxCommitRows)
}
