package relational

import "github.com/perdure/perdure/provider"

// commitCases are about the turn itself: its fence, the messages that it consumes, events, timers, descriptions and the lease.
func commitCases() []ruleCase {
	const turned = "StoreHead i: Version=v2 UpdatedAt=1000"
	fence := func(name string, given func(*Head)) ruleCase {
		return refuses(name, changedTo(given), commits(), provider.ErrConflict)
	}
	return []ruleCase{
		does("nothing but the version", nil, commits(), turned).returns("ready 0").tells("commits 1"),
		does("a repeat under the stored version", func(r *fakeRows) {
			r.message("i", 4, 900)
			r.change("i", func(h *Head) { h.Version = u("v2") })
		}, commits()).returns("ready 900"),
		refuses("the instance is unknown", gone, commits(), provider.ErrConflict),
		fence("it is being deleted", deleting),
		fence("it is suspended", suspended),
		fence("it has ended", ended),
		fence("another execution is current", func(h *Head) { h.Execution = 2 }),
		fence("it was changed since", func(h *Head) { h.Version = u("v9") }),
		fence("its history has another length", func(h *Head) { h.Length = 3 }),
		refuses("the claim ahead has ended", nil, commits(func(r *turnReq) { r.Lease, r.Ahead = u("l"), true }), provider.ErrConflict),
		does("the claim ahead holds", changedTo(held), commits(func(r *turnReq) { r.Lease, r.Ahead = u("l"), true }),
			turned+" Deliveries=0 LeaseToken= LeaseOwner= LeaseUntil=0"),
		does("the lease of another one stays", changedTo(held), commits(func(r *turnReq) { r.Lease = u("m") }),
			turned+" Deliveries=0"),
		does("it clears Blocked and the delay of a release", func(r *fakeRows) {
			r.message("i", 4, 900)
			r.change("i", func(h *Head) { h.Blocked, h.RetryAt, h.NotBefore = true, 1500, 1500 })
		}, commits(),
			"StoreHead i: Version=v2 Blocked=false RetryAt=0 UpdatedAt=1000 NotBefore=0").tells("turns f:1:1, commits 1"),
		does("sticky", nil, commits(func(r *turnReq) { r.Owner, r.Sticky = "o", us(300) }), turned+" StickyOwner=o StickyUntil=800"),
		does("no longer sticky", changedTo(func(h *Head) { h.StickyOwner, h.StickyUntil = "o", 800 }), commits(),
			turned+" StickyOwner= StickyUntil=0"),
		does("the first message is consumed", twoMessages, commits(func(r *turnReq) { r.Consumed = []int64{3} }),
			"RemoveMessages i: first [3]", turned+" ReadyAt=950 Inbox=1 InboxBytes=2").returns("ready 950"),
		does("a later message is consumed", twoMessages, commits(func(r *turnReq) { r.Consumed = []int64{4} }),
			"RemoveMessages i: [4]", turned+" Inbox=1 InboxBytes=2").returns("ready 900"),
		does("many messages are consumed, in any order", func(r *fakeRows) {
			for id := range int64(9) {
				r.message("i", id+1, 900)
			}
		}, commits(func(r *turnReq) { r.Consumed = []int64{9, 8, 7, 6, 5, 4, 3, 2, 1} }),
			"RemoveMessages i: first [1 2 3 4 5 6 7 8 9]", turned+" ReadyAt=0 Inbox=0 InboxBytes=0").returns("ready 0"),
		refuses("a consumed message is gone", twoMessages, commits(func(r *turnReq) { r.Consumed = []int64{3, 9} }), provider.ErrConflict),
		does("a reset made it ready without a message", changedTo(func(h *Head) { h.ReadyAt = 900 }), commits(),
			turned+" ReadyAt=0").returns("ready 0"),
		does("a reset made it ready before its message", func(r *fakeRows) {
			r.message("i", 3, 2000)
			r.change("i", func(h *Head) { h.ReadyAt = 900 })
		}, commits(),
			turned+" ReadyAt=2000").returns("ready 2000"),
		does("a message that is not visible yet waits", func(r *fakeRows) { r.message("i", 3, 2000) }, commits(),
			turned).returns("ready 2000").tells("due 2000, commits 1"),
		does("events", nil, commits(func(r *turnReq) { r.Events = [][]byte{[]byte("e3"), []byte("e4")} }),
			"AppendEvents i/1: 2 after 2", "StoreHead i: Version=v2 Length=4 Bytes=24 UpdatedAt=1000"),
		does("a timer", nil, commits(func(r *turnReq) { r.Timers = []provider.Timer{{EventID: 4, Kind: 2, Due: 2000, Payload: []byte("t")}} }),
			"PutMessage i: 5 at 2000 timer of 1/4 t", turned+" ReadyAt=2000 Inbox=1 InboxBytes=1 NextMessage=6").returns("ready 2000"),
		does("a timer that the turn cancels", nil,
			commits(func(r *turnReq) { r.Timers, r.CancelTimers = []provider.Timer{{EventID: 4, Due: 2000}}, []int64{4} }),
			turned),
		does("timers are cancelled, one is gone", func(r *fakeRows) {
			r.timer("i", 3, 2000, 1, 1)
			r.timer("i", 4, 3000, 1, 2)
		}, commits(func(r *turnReq) { r.CancelTimers = []int64{1, 9} }),
			"RemoveTimer i/1/1", "RemoveTimer i/1/9: no", turned+" ReadyAt=3000 Inbox=1 InboxBytes=2").returns("ready 3000"),
		does("custom status, attributes and values", nil, commits(func(r *turnReq) {
			r.CustomStatus, r.Attributes = []byte("c"), []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}}
			r.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}, {Key: "l"}}
		}),
			"SetCustomStatus i: c", "SetAttributes i: 1", "SetValue k i: v", "SetValue l i: none", turned).tells("value i.k, value i.l, commits 1"),
		does("sessions end", nil, commits(func(r *turnReq) { r.EndSessions = []string{"s"} }), "EndSessions [s]", turned),
		does("the engine level rises", nil, commits(func(r *turnReq) { r.EngineLevel = 5 }), "StoreHead i: Kind=f:1:5 Version=v2 UpdatedAt=1000"),
		does("the engine level is new", nil, commits(func(r *turnReq) { r.EngineLevel = 6 }), "StoreHead i: Kind=f:1:6 Version=v2 UpdatedAt=1000"),
		does("the engine level does not fall", changedTo(levelFive), commits(func(r *turnReq) { r.EngineLevel = 3 }), turned),
		refuses("the engine level of an instance without a name", changedTo(nameless),
			commits(func(r *turnReq) { r.EngineLevel, r.Events = 5, [][]byte{[]byte("e3")} }), provider.ErrInvalid,
			"AppendEvents i/1: 1 after 2").late(notFetched),
	}
}

// notFetched is why some refusals are not worth a check of their own.
const notFetched = "no node is given an instance that has lost its name, so that its turns are rare"

// twoMessages are the first ones, both visible.
func twoMessages(r *fakeRows) {
	r.message("i", 3, 900)
	r.message("i", 4, 950)
}

// closingCases are about turns that end the instance or open its next execution.
func closingCases() []ruleCase {
	end := func(r *turnReq) { r.Status = provider.StatusCompleted }
	const over = "StoreHead i: Status=Completed Version=v2 UpdatedAt=1000 EndedAt=1000"
	gone := []string{"RemoveTasks i/1", "LeaveSessions i"}
	listens := func(change func(*fakeRows, *provider.Listener)) func(*fakeRows) {
		return func(r *fakeRows) {
			r.instance("l")
			r.change("i", func(h *Head) { h.Listened = true })
			l := &provider.Listener{Key: u("l"), Message: msg("end")}
			r.listeners[u("i")] = l
			change(r, l)
		}
	}
	return []ruleCase{
		does("it ends", nil, commits(end), append(gone[:2:2], over)...).tells("changed i, notice i/1/0, commits 1"),
		does("it ends with a result", nil, commits(end, func(r *turnReq) { r.Result = []byte("out") }), append(gone[:2:2], "SetResult i: out", over)...),
		does("it ends what a turn that failed has left", func(r *fakeRows) {
			r.change("i", held)
			r.change("i", func(h *Head) { h.Blocked, h.RetryAt, h.ReadyAt = true, 1500, 2000 })
		}, commits(end),
			append(gone[:2:2], "StoreHead i: Status=Completed Version=v2 Blocked=false RetryAt=0 UpdatedAt=1000 EndedAt=1000 ReadyAt=0"+
				" Deliveries=0 LeaseToken= LeaseOwner= LeaseUntil=0")...),
		does("all messages are consumed", twoMessages, commits(end, func(r *turnReq) { r.Consumed = []int64{3, 4} }),
			append([]string{"RemoveMessages i: first [3 4]"}, append(gone[:2:2], over+" ReadyAt=0 Inbox=0 InboxBytes=0")...)...),
		refuses("a message waits", twoMessages, commits(end, func(r *turnReq) { r.Consumed = []int64{3} }), provider.ErrInboxNotEmpty),
		does("a timer of this execution waits", func(r *fakeRows) { r.timer("i", 3, 2000, 1, 2) }, commits(end),
			"RemoveTasks i/1", "RemoveTimers i/1", "LeaveSessions i", over+" ReadyAt=0 Inbox=0 InboxBytes=0"),
		refuses("a timer of another execution waits", func(r *fakeRows) { r.timer("i", 3, 2000, 9, 2) }, commits(end), provider.ErrInboxNotEmpty),
		does("it closes the inbox", twoMessages, commits(end, func(r *turnReq) { r.CloseInbox = "why" }),
			append(gone[:2:2], "DeadLetterInbox i: 2, why", over+" ReadyAt=0 Inbox=0 InboxBytes=0")...),
		does("a listener", listens(func(*fakeRows, *provider.Listener) {}), commits(end),
			append(gone[:2:2], "PutMessage l: 5 at 1000 end", over, "StoreHead l: ReadyAt=1000 Inbox=1 InboxBytes=3 NextMessage=6")...),
		does("a listener in the execution that listens", listens(func(_ *fakeRows, l *provider.Listener) { l.Message.Execution = 1 }), commits(end),
			append(gone[:2:2], "PutMessage l: 5 at 1000 of 1/0 end", over, "StoreHead l: ReadyAt=1000 Inbox=1 InboxBytes=3 NextMessage=6")...),
		does("a listener in another execution", listens(func(_ *fakeRows, l *provider.Listener) { l.Message.Execution = 9 }), commits(end),
			append(gone[:2:2], over)...),
		does("a listener that is gone", listens(func(r *fakeRows, _ *provider.Listener) { r.removed("l") }), commits(end), append(gone[:2:2], over)...),
		does("a listener that has ended", listens(func(r *fakeRows, _ *provider.Listener) { r.change("l", ended) }), commits(end), append(gone[:2:2], over)...),
		does("a listener that is not stored", listens(func(r *fakeRows, _ *provider.Listener) { delete(r.listeners, u("i")) }), commits(end),
			append(gone[:2:2], over)...),
		does("the next execution", nil, commits(func(r *turnReq) {
			m := msg("go")
			r.Next = &provider.NextExecution{CodeVersion: "1", EngineLevel: 1, Events: [][]byte{[]byte("s1")}, Message: &m}
		}),
			"AddExecution i/1: ContinuedAsNew, 2 events", "RemoveTasks i/1", "AppendEvents i/2: 1 after 0", "PutMessage i: 5 at 1000 of 2/0 go",
			"StoreHead i: Execution=2 Version=v2 Length=1 Bytes=2 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6").
			tells("turns f:1:1, notice i/1/0, commits 1"),
		does("the next execution of another orchestration", changedTo(levelFive),
			commits(func(r *turnReq) { r.Next = &provider.NextExecution{Name: "g", CodeVersion: "2", EngineLevel: 1} }),
			"AddExecution i/1: ContinuedAsNew, 2 events", "RemoveTasks i/1", "StoreHead i: Kind=g:2:1 Execution=2 Version=v2 Length=0 Bytes=0 UpdatedAt=1000"),
		does("the next execution keeps the level while messages wait", func(r *fakeRows) {
			r.change("i", levelFive)
			r.timer("i", 3, 1500, 1, 2)
			r.message("i", 4, 2000)
		}, commits(func(r *turnReq) { r.Next = &provider.NextExecution{CodeVersion: "1", EngineLevel: 1} }),
			"AddExecution i/1: ContinuedAsNew, 2 events", "RemoveTasks i/1", "RemoveTimers i/1",
			"StoreHead i: Execution=2 Version=v2 Length=0 Bytes=0 UpdatedAt=1000 ReadyAt=2000 Inbox=1 InboxBytes=2").returns("ready 2000"),
		refuses("the next execution of an instance without a name", changedTo(nameless),
			commits(func(r *turnReq) { r.Next = &provider.NextExecution{CodeVersion: "1"} }), provider.ErrInvalid,
			"AddExecution i/1: ContinuedAsNew, 2 events", "RemoveTasks i/1").late(notFetched),
	}
}
