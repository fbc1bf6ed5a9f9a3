package relational

import "github.com/perdure/perdure/provider"

// sealCases are about Seal and about the mark of a deletion.
func sealCases() []ruleCase {
	stamped := " Version=v2 UpdatedAt=1000"
	other := func(r *sealReq) { r.Transfer = u("y") }
	again := func(r *sealReq) { r.Again = true }
	back := func(r *sealReq) { r.Back = true }
	arrived := func(s *seal) { s.Arrived = true }
	wasEnded := func(s *seal) { s.Arrived, s.Status, s.ended = true, provider.StatusCompleted, 700 }
	sealed := func(state provider.SealState, changes ...func(*seal)) func(*fakeRows) {
		return func(r *fakeRows) { r.sealed("i", state, changes...) }
	}
	cases := []ruleCase{
		does("hold", func(r *fakeRows) { r.task("i", 3, leased); r.task("i", 4, parked) }, seals(provider.SealHeld),
			"Seal i: held by x, Running, 0 pages", "FreeTasks i", "HoldTasks i", "StoreHead i: Status=Suspended Version=v2 UpdatedAt=1000").
			returns("Suspended held by x").tells("freed q:a:3, changed i, notice i/1/0"),
		does("hold what a node has", changedTo(held, func(h *Head) { h.StickyOwner, h.StickyUntil = "o", 800 }), seals(provider.SealHeld),
			"Seal i: held by x, Running, 0 pages", "FreeTasks i", "HoldTasks i",
			"StoreHead i: Status=Suspended Version=v2 UpdatedAt=1000 Deliveries=1 LeaseToken= LeaseOwner= LeaseUntil=0 StickyOwner= StickyUntil=0"),
		does("hold what is suspended", changedTo(suspended), seals(provider.SealHeld),
			"Seal i: held by x, Suspended, 0 pages", "FreeTasks i", "HoldTasks i", "StoreHead i:"+stamped),
		refuses("hold what is gone", gone, seals(provider.SealHeld), provider.ErrNotFound),
		refuses("hold what is being deleted", changedTo(deleting), seals(provider.SealHeld), provider.ErrNotFound),
		refuses("hold what has ended", changedTo(ended), seals(provider.SealHeld), provider.ErrEnded),
		does("hold again", sealHeld, seals(provider.SealHeld)).returns("Suspended held by x"),
		refuses("hold for another transfer", sealHeld, seals(provider.SealHeld, other), provider.ErrMoved),
		does("adopt for another transfer", sealHeld, seals(provider.SealHeld, other, again),
			"Seal i: held by y, Running, 0 pages").returns("Suspended held by y"),
		does("close", sealHeld, seals(provider.SealClosed),
			"Seal i: closed by x, Running, 0 pages", "StoreHead i: Deleting=true").returns("Suspended closed by x").tells("changed i"),
		refuses("close what is not held", nil, seals(provider.SealClosed), provider.ErrConflict),
		refuses("close what was resumed by a release without seals", and(sealHeld, changedTo(func(h *Head) { h.Status = provider.StatusRunning })),
			seals(provider.SealClosed), provider.ErrConflict),
		refuses("close what was deleted by a release without seals", and(sealHeld, changedTo(deleting)), seals(provider.SealClosed), provider.ErrConflict),
		does("reopen what has arrived", sealed(provider.SealClosed, arrived), seals(provider.SealHeld),
			"Seal i: held by x, Running, 0 pages", "StoreHead i: Deleting=false"+stamped).returns("Suspended held by x").tells("changed i, notice i/1/0"),
		does("reopen what had ended before its move, which is free", sealed(provider.SealClosed, wasEnded), seals(provider.SealHeld),
			"Seal i: none by x, Completed, 0 pages", "StoreHead i: Status=Completed Deleting=false Version=v2 EndedAt=700").returns("Completed none by x"),
		refuses("reopen what was sealed here", sealClosed, seals(provider.SealHeld), provider.ErrMoved),
		does("reopen what was sealed here, back", sealClosed, seals(provider.SealHeld, back),
			"Seal i: held by x, Running, 0 pages", "StoreHead i: Deleting=false"+stamped),
		does("free", and(sealed(provider.SealHeld, arrived), taskGiven()), seals(provider.SealNone),
			"Seal i: none by x, Running, 0 pages", "ResumeTasks i", "StoreHead i: Status=Running"+stamped).
			returns("Running none by x").tells("tasks q:a:3, changed i, notice i/1/0"),
		does("free what was suspended", sealed(provider.SealHeld, arrived, func(s *seal) { s.Status = provider.StatusSuspended }), seals(provider.SealNone),
			"Seal i: none by x, Suspended, 0 pages", "StoreHead i:"+stamped),
		refuses("free what is closed", sealClosed, seals(provider.SealNone, back), provider.ErrMoved),
		refuses("free what is free", nil, seals(provider.SealNone), provider.ErrConflict),
	}
	return append(cases, deletionCases()...)
}

// deletionCases are about the mark with which a deletion begins. The rest of a deletion is statements of the stores.
func deletionCases() []ruleCase {
	marks := func(t *Tx) (string, error) {
		h, err := t.Head(u("i"))
		if err != nil {
			return "", err
		}
		return "", t.MarkDeleting(h, u("d1"))
	}
	listened := func(r *fakeRows) {
		r.instance("l")
		r.change("i", func(h *Head) { h.Listened = true })
		r.listeners[u("i")] = &provider.Listener{Key: u("l"), Message: msg("end")}
	}
	return []ruleCase{
		does("mark what a node has", and(listened, changedTo(held)), marks,
			"PutMessage l: 5 at 1000 end", "StoreHead i: Deleting=true Version=d1 UpdatedAt=1000 LeaseToken= LeaseOwner= LeaseUntil=0",
			"StoreHead l: ReadyAt=1000 Inbox=1 InboxBytes=3 NextMessage=6").tells("turns f:1:1, changed i, notice i/1/0"),
		does("mark what has ended, whose listener knows", and(listened, changedTo(ended)), marks, "StoreHead i: Deleting=true Version=d1 UpdatedAt=1000"),
		does("mark again", changedTo(deleting), marks),
	}
}

// importCases are about the pages of an instance that comes from another store.
func importCases() []ruleCase {
	number := func(n int) func(*importReq) {
		return func(r *importReq) { r.Number, r.Parcel.Head = n, nil }
	}
	more := func(r *importReq) { r.Last = false }
	arriving := func(pages int64) func(*fakeRows) {
		return func(r *fakeRows) {
			r.sealed("i", provider.SealArriving, func(s *seal) { s.Arrived, s.pages = true, pages })
		}
	}
	other, another := func(r *sealReq) { r.Transfer = u("y") }, func(r *importReq) { r.Transfer = u("y") }
	unpin := releases(provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: u("i"), Owner: "o"})
	const (
		comes  = "MoveIn i: Kind=f:1:1 Status=Suspended Deleting=true Execution=3 Version=w1 Length=7 Bytes=70 UpdatedAt=800 NextMessage=9"
		closed = "Seal i: closed by x, Running, 1 pages"
	)
	return []ruleCase{
		does("the only page", gone, imports(), comes, "SetRequests i: ", "InboxSize i: 0", closed).returns("closed, done true"),
		does("the first page", gone, imports(more), comes, "SetRequests i: ", "Seal i: arriving by x, Running, 1 pages").returns("arriving, done false"),
		does("all that a page can have", gone, imports(func(r *importReq) {
			h, p := r.Parcel.Head, &r.Parcel
			h.Instance.CustomStatus, h.Instance.Result = []byte("cs"), []byte("out")
			h.Instance.Parent = provider.Parent{Key: u("p"), ID: "p", Execution: 1, EventID: 3}
			h.Instance.Blocked = &provider.Blocked{Reason: "panic", Count: 2, RetryAt: 1500}
			h.Instance.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}}
			h.Instance.InboxMessages, h.Instance.ReadyAt = 1, 900
			h.Acts, h.Requests = [][]byte{make([]byte, provider.ActBytes)}, []string{"r1"}
			h.Listener = &provider.Listener{Key: u("l")}
			h.Executions = []provider.MovedExecution{{Execution: 2, Status: provider.StatusContinuedAsNew, Length: 5}}
			p.History = []provider.MovedEvents{{Execution: 3, First: 1, Events: [][]byte{[]byte("e1"), []byte("e2")}}}
			p.Messages = []provider.Message{{ID: 4, VisibleAt: 900, Payload: []byte("m4")}}
			p.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
			task := provider.MovedTask{TaskRef: ref("i", 3), Queue: "q", Name: "b", Priority: 1, State: provider.TaskQueued, Attempt: 1, ScheduledAt: 600}
			ranked := task
			ranked.EventID, ranked.Session, ranked.FairnessKey, ranked.Rank = 4, "s", "k", 7000
			p.Tasks = []provider.MovedTask{task, ranked}
			p.Letters = []provider.MovedLetter{{DeadLetter: provider.DeadLetter{Key: u("i")}}}
		}),
			"MoveIn i: Kind=f:1:1 Status=Suspended Deleting=true Execution=3 Version=w1 Length=7 Bytes=70 Parent=p/1/3 Blocked=true RetryAt=1500"+
				" UpdatedAt=800 ReadyAt=900 Inbox=1 NextMessage=9",
			"SetCustomStatus i: cs", "SetResult i: out", "SetActs i: 1", "SetAttributes i: 1", "SetListener i: l",
			"AddExecution i/2: ContinuedAsNew, 5 events", "SetRequests i: r1", "AppendEvents i/3: 2 after 0", "PutMessage i: 4 at 900 m4", "SetValue k i: v",
			"AddTask i/1/3: Kind=q:b:1 State=queued Attempt=1", "StoreTask i/1/3:",
			"AddTask i/1/4: Kind=q:b:1:3 Session=s State=queued Attempt=1 Rank=7000", "StoreTask i/1/4:", "Scheduled i/1/3: 600", "Scheduled i/1/4: 600",
			"MoveDeadLetter i", "InboxSize i: 2", closed).
			returns("closed, done true"),
		does("the next page", arriving(1), imports(number(1)), "InboxSize i: 0", "Seal i: closed by x, Running, 2 pages").returns("closed, done true"),
		does("a page that was stored", arriving(2), imports(number(1), more)).returns("arriving, done false"),
		does("a page of what is there", func(r *fakeRows) { r.sealed("i", provider.SealClosed, func(s *seal) { s.Arrived = true }) }, imports()).returns("closed, done true"),
		refuses("a page is missing", arriving(1), imports(number(2)), provider.ErrConflict),
		refuses("a page of another transfer", arriving(1), imports(number(1), func(r *importReq) { r.Transfer = u("y") }), provider.ErrConflict),
		refuses("the clock is behind", nil, imports(func(r *importReq) { r.At = 1001 }), provider.ErrClockBehind),
		refuses("the key is in use", nil, imports(), provider.ErrExists),
		refuses("the ID is in use", func(r *fakeRows) { gone(r); r.instance("j", func(h *Head) { h.ID = "i" }) }, imports(), provider.ErrExists),
		does("the ID belongs to a successor", func(r *fakeRows) { gone(r); r.instance("j", func(h *Head) { h.ID = "i" }) },
			imports(func(r *importReq) { r.Parcel.Head.Replaced = true }),
			comes, "SetRequests i: ", "InboxSize i: 0", closed),
		does("it begins anew", func(r *fakeRows) { arriving(1)(r); r.message("i", 3, 900); r.task("i", 3) }, imports(),
			"Clear i", comes, "SetRequests i: ", "InboxSize i: 0", closed),
		refuses("it begins anew, and another one has the ID", func(r *fakeRows) { arriving(1)(r); r.instance("j", func(h *Head) { h.ID = "i" }) }, imports(),
			provider.ErrExists),
		refuses("it comes back without Replace", sealClosed, imports(func(r *importReq) { r.Transfer = u("y") }), provider.ErrExists),
		does("it comes back", sealClosed, imports(func(r *importReq) { r.Transfer, r.Replace = u("y"), true }),
			"Clear i", comes, "SetRequests i: ", "InboxSize i: 0", "Seal i: closed by y, Running, 1 pages"),
		does("it comes back to where its row is known and changed", and(sealHeld, changedTo(func(h *Head) { h.StickyOwner, h.StickyUntil = "o", 800 })),
			inTurn(
				seals(provider.SealClosed), unpin, imports(more, another, func(r *importReq) {
					r.Replace, r.Parcel.Head.Instance.InboxMessages, r.Parcel.Head.Instance.ReadyAt = true, 1, 900
				}), unpin, imports(number(1), another, func(r *importReq) {
					r.Parcel.Messages = []provider.Message{{ID: 4, VisibleAt: 900, Payload: []byte("m4")}}
				}), seals(provider.SealHeld, other), seals(provider.SealNone, other),
			),
			"Seal i: closed by x, Running, 0 pages", "StoreHead i: Deleting=true", "StoreHead i: StickyOwner= StickyUntil=0", "Clear i",
			"MoveIn i: Kind=f:1:1 Status=Suspended Deleting=true Execution=3 Version=w1 Length=7 Bytes=70 UpdatedAt=800 ReadyAt=900 Inbox=1 NextMessage=9",
			"SetRequests i: ", "Seal i: arriving by y, Running, 1 pages", "PutMessage i: 4 at 900 m4", "InboxSize i: 2", "Seal i: closed by y, Running, 2 pages",
			"Seal i: held by y, Running, 2 pages", "StoreHead i: Deleting=false Version=v2 UpdatedAt=1000",
			"Seal i: none by y, Running, 2 pages", "ResumeTasks i", "StoreHead i: Status=Running").returns("Running none by y"),
	}
}
