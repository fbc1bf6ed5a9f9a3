package relational

import "github.com/perdure/perdure/provider"

// createCases are about Create without a first turn, and about Fork, which admits in the same way.
func createCases() []ruleCase {
	const (
		inserted = "InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2"
		started  = "PutMessage c: 1 at 1000 s"
		made     = "c created true, begun false, at c1"
	)
	here := func(changes ...func(*Head)) func(*fakeRows) {
		return func(r *fakeRows) {
			r.instance("c", changes...)
			r.texts["request c"] = "r"
		}
	}
	policy := func(p provider.IDPolicy) func(*createReq) {
		return func(r *createReq) { r.Key, r.Policy = u("c2"), p }
	}
	requested := func(r *createReq) { r.RequestID = "r" }
	delivers := func(r *createReq) { r.Messages = []provider.NewMessage{msg("m1"), leveled(5)} }
	child := func(r *createReq) { r.Parent = provider.Parent{Key: u("p"), ID: "p", Execution: 1, EventID: 3} }
	second := func(r *createReq) { r.Key = u("c2") }
	const insertedSecond = "InsertInstance c2: Kind=f:1:1 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2"

	cases := []ruleCase{
		does("a new instance", nil, creates(), inserted, started).returns(made).tells("turns f:1:1"),
		does("a delayed start", nil, creates(func(r *createReq) { r.Message.Delay = us(200) }),
			"InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1200 Inbox=1 InboxBytes=1 NextMessage=2",
			"PutMessage c: 1 at 1200 s").tells("due 1200"),
		does("a new kind, at the level of its messages", nil, creates(delivers, func(r *createReq) { r.CodeVersion, r.Message.EngineLevel = "2", 3 }),
			"InsertInstance c: Kind=f:2:5 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2", started,
			"PutMessage c: 2 at 1000 m1", "PutMessage c: 3 at 1000", "StoreHead c: Inbox=3 InboxBytes=3 NextMessage=4"),
		does("with attributes and a listener", nil, creates(func(r *createReq) {
			r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}, {Name: "a", Kind: provider.AttributeBool}}
			r.Listener = &provider.Listener{Key: u("l"), Message: msg("end")}
		}),
			"InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 Listened=true UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2",
			started, "SetListener c: l", "SetAttributes c: 2"),
		does("a child", func(r *fakeRows) { r.instance("p") }, creates(child),
			"InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 Parent=p/1/3 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2",
			started),
		refuses("the parent is gone", nil, creates(child), provider.ErrNotFound),
		refuses("the parent is being deleted", func(r *fakeRows) { r.instance("p", deleting) }, creates(child), provider.ErrNotFound),

		refuses("the ID is in use", here(), creates(second), provider.ErrExists),
		refuses("the key is in use", here(), creates(func(r *createReq) { r.ID = "d" }), provider.ErrExists),
		does("a repeat", here(), creates(second, requested, delivers)).returns("c created true, begun false, at v1"),
		does("a repeat after the end", here(ended), creates(second, requested)).returns("c created true, begun false, at v1"),
		refuses("another request", here(), creates(second, func(r *createReq) { r.RequestID = "r2" }), provider.ErrExists),
		does("the existing one is used", here(), creates(policy(provider.IDUseExisting))).returns("c created false, begun false, at v1"),
		refuses("the existing one is being deleted", here(deleting), creates(policy(provider.IDUseExisting)), provider.ErrExists),
		does("an ended one is replaced", here(ended), creates(policy(provider.IDReplaceEnded)),
			"Retire c", insertedSecond, "PutMessage c2: 1 at 1000 s").returns("c2 created true, begun false, at c1"),
		does("one that ended in the same group is replaced", here(),
			inTurn(steers(provider.SteerTerminate, func(r *steerReq) { r.Key = u("c") }), creates(policy(provider.IDReplaceEnded))),
			"RemoveTasks c/1", "LeaveSessions c", "StoreHead c: Status=Terminated Version=v2 UpdatedAt=1000 EndedAt=1000", "Retire c", insertedSecond,
			"PutMessage c2: 1 at 1000 s").returns("c2 created true, begun false, at c1"),
		refuses("a running one is not replaced", here(), creates(policy(provider.IDReplaceEnded)), provider.ErrExists),
		refuses("a suspended one is not replaced", here(suspended), creates(policy(provider.IDReplaceEnded)), provider.ErrExists),
		refuses("one that is being deleted is not replaced", here(ended, deleting), creates(policy(provider.IDReplaceEnded)), provider.ErrExists),
		does("the one that was shown is replaced", here(ended), creates(policy(provider.IDReplaceEnded), func(r *createReq) { r.Replaces = u("c") }),
			"Retire c", insertedSecond, "PutMessage c2: 1 at 1000 s"),
		refuses("another one than was shown is not replaced", here(ended),
			creates(policy(provider.IDReplaceEnded), func(r *createReq) { r.Replaces = u("c9") }), provider.ErrExists),
		refuses("one is not replaced for a child without a parent", here(ended), creates(policy(provider.IDReplaceEnded), child), provider.ErrNotFound),
		refuses("one is not replaced under its own key", here(ended), creates(policy(provider.IDReplaceEnded), func(r *createReq) { r.Key = u("c") }),
			provider.ErrExists),
	}
	return append(append(cases, joiningCases()...), forkCases()...)
}

// joiningCases are about the messages of a start that go to the instance that exists.
func joiningCases() []ruleCase {
	const joined = "c created false, begun false, at v1"
	joins := func(changes ...func(*createReq)) rule {
		return creates(append([]func(*createReq){func(r *createReq) {
			r.Key, r.Policy, r.RequestID, r.Messages = u("c2"), provider.IDUseExisting, "r2", []provider.NewMessage{msg("m1"), msg("m2")}
		}}, changes...)...)
	}
	here := func(changes ...func(*Head)) func(*fakeRows) { return func(r *fakeRows) { r.instance("c", changes...) } }
	delivered := []string{"PutMessage c: 5 at 1000 m1", "PutMessage c: 6 at 1000 m2", "StoreHead c: ReadyAt=1000 Inbox=2 InboxBytes=4 NextMessage=7"}
	full := func(r *fakeRows) {
		r.instance("c")
		r.message("c", 3, 900)
		r.change("c", func(h *Head) { h.Inbox = provider.MaxInboxMessages - 1 })
	}
	return []ruleCase{
		does("messages for the existing one", here(), joins(), append([]string{"AddRequest c: r2"}, delivered...)...).returns(joined),
		does("the same messages again", func(r *fakeRows) {
			r.instance("c", ended)
			r.texts["joined c r2"] = "yes"
		}, joins(),
			"AddRequest c: r2: no").returns(joined),
		does("messages without a request ID", here(), joins(func(r *createReq) { r.RequestID = "" }), delivered...).returns(joined),
		refuses("messages for one that has ended", here(ended), joins(), provider.ErrEnded, "AddRequest c: r2").guardedBy("AddRequest"),
		refuses("messages without a request ID for one that has ended", here(ended), joins(func(r *createReq) { r.RequestID = "" }), provider.ErrEnded),
		refuses("more messages than fit", full, joins(), provider.ErrInboxFull, "AddRequest c: r2").guardedBy("AddRequest"),
	}
}

// forkCases are about Fork.
func forkCases() []ruleCase {
	return []ruleCase{
		does("a fork", nil, forks(func(r *forkReq) {
			r.Prefix.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "a"}}
			r.Prefix.Messages = []provider.CarriedMessage{{Message: leveled(5), At: 600}}
			r.Prefix.Values, r.Prefix.Seen = []provider.KeyValue{{Key: "k", Value: []byte("v")}}, []string{"r1", "r2"}
			r.Prefix.Attributes, r.Prefix.CustomStatus = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}}, []byte("cs")
		}),
			"InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1000 NextMessage=1", "AppendEvents c/1: 1 after 0",
			"AddTask c/1/1: Kind=q:a:3 State=queued Attempt=1 NotBefore=1000 FetchAt=1000", "PutMessage c: 1 at 600", "ClearAttributes c: ",
			"SetRequests c: r1 r2", "SetCustomStatus c: cs", "SetAttributes c: 1", "SetValue k c: v",
			"StoreHead c: Kind=f:1:5 Length=1 Bytes=2 ReadyAt=600 Inbox=1 NextMessage=2").
			returns("c created true, begun false, at c1").tells("turns f:1:1, turns f:1:5, tasks q:a:3, value c.k"),
		does("a repeat of a fork", func(r *fakeRows) {
			r.instance("c")
			r.texts["request c"] = "r"
		}, forks(func(r *forkReq) { r.Create.RequestID = "r" })).returns("c created true, begun false, at v1"),
		refuses("a fork under an ID in use", func(r *fakeRows) { r.instance("c") }, forks(), provider.ErrExists),
	}
}

// firstTurnCases are about the first turn of a create.
func firstTurnCases() []ruleCase {
	turn := func(changes ...func(*turnReq)) func(*createReq) {
		return func(r *createReq) {
			f := with(turnReq{
				Key: r.Key, Execution: 1, Expected: r.Commit, Commit: u("c2"), Status: provider.StatusRunning, Events: [][]byte{[]byte("e1")},
			}, changes)
			r.First = &f
		}
	}
	const begun = "InsertBegun c: Kind=f:1:1 Status=Running Execution=1 Version=c2 Length=1 Bytes=2 UpdatedAt=1000"
	return []ruleCase{
		does("rows that cannot store it", nil, creates(turn()),
			"InsertInstance c: Kind=f:1:1 Status=Running Execution=1 Version=c1 UpdatedAt=1000 ReadyAt=1000 Inbox=1 InboxBytes=1 NextMessage=2",
			"PutMessage c: 1 at 1000 s").returns("c created true, begun false, at c1").onlyPlain(),
		does("it waits for nothing yet", nil, creates(turn()),
			"AppendEvents c/1: 1 after 0", begun+" NextMessage=2").returns("c created true, begun true, at c2").tells("commits 1").onlyFast(),
		does("it hands off a task and is sticky", nil, creates(turn(func(r *turnReq) {
			r.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "a", Lease: &provider.TaskLease{Token: u("t2"), Owner: "o", Duration: us(100)}}}
			r.Owner, r.Sticky = "o", us(300)
		})),
			"AppendEvents c/1: 1 after 0",
			"AddTask c/1/1: Kind=q:a:3 State=leased Attempt=1 Deliveries=1 Token=t2 Owner=o LeaseUntil=600 Begun=true NotBefore=1000",
			begun+" NextMessage=2 StickyOwner=o StickyUntil=800").tells("lease 600, commits 1").onlyFast(),
		does("it hands off a task of a session", nil, creates(turn(func(r *turnReq) {
			lease := &provider.TaskLease{Token: u("t2"), Owner: "o", Duration: us(100)}
			r.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "a", Session: "s", Lease: lease}}
		})),
			"ForgetEnded s", "AppendEvents c/1: 1 after 0",
			"AddTask c/1/1: Kind=q:a:3:2 Session=s State=leased Attempt=1 Deliveries=1 Token=t2 Owner=o LeaseUntil=600 Begun=true NotBefore=1000",
			begun+" NextMessage=2").tells("lease 600, commits 1").onlyFast(),
		does("a timer, at a higher level", nil,
			creates(turn(func(r *turnReq) { r.Timers, r.EngineLevel = []provider.Timer{{EventID: 1, Kind: 2, Due: 2000}}, 5 })),
			"AppendEvents c/1: 1 after 0", "PutMessage c: 2 at 2000 timer of 1/1",
			"InsertBegun c: Kind=f:1:5 Status=Running Execution=1 Version=c2 Length=1 Bytes=2 UpdatedAt=1000 ReadyAt=2000 Inbox=1 NextMessage=3").
			tells("due 2000, commits 1").onlyFast(),
		does("it sends and describes", func(r *fakeRows) { r.instance("p") }, creates(turn(func(r *turnReq) {
			r.Sends = []provider.OutMessage{{Key: u("p"), Message: msg("hi")}}
			r.CustomStatus, r.Values = []byte("cs"), []provider.KeyValue{{Key: "k", Value: []byte("v")}}
		}), func(r *createReq) { r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}} }),
			"AppendEvents c/1: 1 after 0", begun+" NextMessage=2", "SetAttributes c: 1", "PutMessage p: 5 at 1000 hi", "SetCustomStatus c: cs",
			"SetValue k c: v", "StoreHead p: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6").tells("turns f:1:1, value c.k, commits 1").onlyFast(),
		refuses("the ID is in use", func(r *fakeRows) { r.instance("c") }, creates(turn()), provider.ErrExists).onlyFast(),
		does("a repeat finds its first turn", func(r *fakeRows) {
			r.instance("c", func(h *Head) { h.Version = u("c2") })
			r.texts["request c"] = "r"
		}, creates(func(r *createReq) { r.RequestID = "r" }, turn())).returns("c created true, begun true, at c2").onlyFast(),
	}
}
