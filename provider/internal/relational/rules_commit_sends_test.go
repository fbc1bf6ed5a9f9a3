package relational

import "github.com/perdure/perdure/provider"

// sendingCases are about the messages that a turn sends and the instances that it starts.
func sendingCases() []ruleCase {
	const (
		turned    = "StoreHead i: Version=v2 UpdatedAt=1000"
		answered  = turned + " ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"
		delivered = "StoreHead p: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"
	)
	to := func(changes ...func(*provider.OutMessage)) func(*turnReq) {
		return func(r *turnReq) {
			r.Sends = append(r.Sends, with(provider.OutMessage{Key: u("p"), Message: msg("hi")}, changes))
		}
	}
	refused := func(m *provider.OutMessage) {
		no := msg("no")
		m.Refused = &no
	}
	replies := func(m *provider.OutMessage) {
		m.Replies = &provider.Replies{Accepted: msg("ok"), Gone: msg("go"), Ended: msg("en"), Full: msg("fu")}
	}
	peer := func(changes ...func(*Head)) func(*fakeRows) {
		return func(r *fakeRows) { r.instance("p", changes...) }
	}
	full := func(r *fakeRows) {
		r.instance("p")
		r.message("p", 3, 900)
		r.change("p", func(h *Head) { h.Inbox = provider.MaxInboxMessages })
	}
	end := func(r *turnReq) { r.Status = provider.StatusFailed }
	const over = "StoreHead i: Status=Failed Version=v2 UpdatedAt=1000 EndedAt=1000"
	closes := func(inbox ...string) []string {
		return append(inbox, "RemoveTasks i/1", "LeaveSessions i")
	}
	afterwards := func(inbox ...string) []string {
		return append(closes(inbox...), "DeadLetterInbox i: 1, sent by the turn that closed the instance", over+" NextMessage=6")
	}

	cases := []ruleCase{
		does("a message", peer(), commits(to()), "PutMessage p: 5 at 1000 hi", turned, delivered).tells("turns f:1:1, commits 1"),
		does("a message by ID, delayed", peer(), commits(to(func(m *provider.OutMessage) { m.ID, m.Key, m.Message.Delay = "p", provider.UUID{}, us(200) })),
			"PutMessage p: 5 at 1200 hi", turned, "StoreHead p: ReadyAt=1200 Inbox=1 InboxBytes=2 NextMessage=6").
			returns("ready 0").tells("due 1200, commits 1"),
		does("a message of a higher level", peer(), commits(to(func(m *provider.OutMessage) { m.Message = leveled(5) })),
			"PutMessage p: 5 at 1000", turned, "StoreHead p: Kind=f:1:5 ReadyAt=1000 Inbox=1 NextMessage=6"),
		refuses("a message of a higher level to an instance without a name", peer(nameless),
			commits(to(func(m *provider.OutMessage) { m.Message = leveled(5) }), func(r *turnReq) { r.Events = [][]byte{{1}} }), provider.ErrInvalid,
			"AppendEvents i/1: 1 after 2").late("receivers are looked at one after the other, behind the turn's own writes"),
		does("nobody has the key", nil, commits(to()), turned).tells("dropped 1, commits 1"),
		does("nobody has the ID", nil, commits(to(refused, func(m *provider.OutMessage) { m.ID, m.Key = "p", provider.UUID{} })),
			"PutMessage i: 5 at 1000 no", answered),
		does("the target is being deleted", peer(deleting), commits(to(refused)), "PutMessage i: 5 at 1000 no", answered),
		does("the target has ended", peer(ended), commits(to(refused)), "PutMessage i: 5 at 1000 no", answered),
		does("the target is full", full, commits(to()), "PutMessage p: 5 at 1000 hi", turned, "StoreHead p: Inbox=100001 InboxBytes=4 NextMessage=6"),
		does("the sender learns that it was accepted", peer(), commits(to(replies)),
			"PutMessage p: 5 at 1000 hi", "PutMessage i: 5 at 1000 ok", answered, delivered),
		does("the sender learns that nobody is there", nil, commits(to(replies)), "PutMessage i: 5 at 1000 go", answered),
		does("the sender learns of the end", peer(ended), commits(to(replies)), "PutMessage i: 5 at 1000 en", answered),
		does("the sender learns that it is full", full, commits(to(replies)), "PutMessage i: 5 at 1000 fu", answered),
		does("the sender ends and learns nothing", peer(), commits(end, to(replies)),
			append(append([]string{"PutMessage p: 5 at 1000 hi"}, closes()...), over, delivered)...),
		does("the sender ends, and what is refused with it", nil, commits(end, to(refused)), afterwards("PutMessage i: 5 at 1000 no")...),
		does("to itself", nil, commits(to(func(m *provider.OutMessage) { m.Key = u("i") })), "PutMessage i: 5 at 1000 hi", answered),
		does("to itself at its end", nil, commits(end, to(replies, func(m *provider.OutMessage) { m.Key = u("i") })),
			afterwards("PutMessage i: 5 at 1000 en")...),
	}
	return append(cases, startingCases(end, afterwards, closes)...)
}

// startingCases are about the instances that a turn starts.
func startingCases(end func(*turnReq), afterwards, closes func(...string) []string) []ruleCase {
	const (
		turned   = "StoreHead i: Version=v2 UpdatedAt=1000"
		answered = turned + " ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"
		inserted = "InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 Parent=i/1/3 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2"
		over     = "StoreHead i: Status=Failed Version=v2 UpdatedAt=1000 EndedAt=1000"
	)
	starts := func(changes ...func(*createReq)) func(*turnReq) {
		child := newInstance(func(r *createReq) {
			r.Parent = provider.Parent{Key: u("i"), ID: "i", Execution: 1, EventID: 3}
		})
		ok := msg("ok")
		return func(r *turnReq) {
			r.Starts = []provider.Start{{Create: with(child, changes), Refused: msg("no"), Accepted: &ok}}
		}
	}
	silent := func(r *turnReq) { r.Starts[0].Accepted = nil }
	return []ruleCase{
		does("a start", nil, commits(starts(), silent), inserted, "PutMessage c: 1 at 1000 s", turned).tells("turns f:1:1, commits 1"),
		does("the sender learns of the start", nil, commits(starts()), inserted, "PutMessage c: 1 at 1000 s", "PutMessage i: 5 at 1000 ok", answered),
		does("the sender ends and does not learn of the start", nil, commits(end, starts()), append(closes(inserted, "PutMessage c: 1 at 1000 s"), over)...),
		does("the ID is in use", func(r *fakeRows) { r.instance("c") }, commits(starts()), "PutMessage i: 5 at 1000 no", answered),
		does("the sender ends, and the ID is in use", func(r *fakeRows) { r.instance("c") }, commits(end, starts()),
			afterwards("PutMessage i: 5 at 1000 no")...),
		does("the parent is another one, and gone", nil, commits(starts(func(r *createReq) { r.Parent.Key = u("p") })), "PutMessage i: 5 at 1000 no", answered),
		does("a repeat of the start", func(r *fakeRows) {
			r.instance("c")
			r.texts["request c"] = "r"
		}, commits(starts(func(r *createReq) { r.RequestID = "r" })),
			"PutMessage i: 5 at 1000 ok", answered),
	}
}
