package relational

import (
	"crypto/sha256"
	"strings"

	"github.com/perdure/perdure/provider"
)

// steerCases are about Steer, without Reset.
func steerCases() []ruleCase {
	const turned = "StoreHead i: Version=v2 UpdatedAt=1000"
	event := func(r *steerReq) { r.Event = []byte("e3") }
	asked := func(r *steerReq) { r.RequestID = "r" }
	sum := sha256.Sum256([]byte("r"))
	recorded := string(sum[:actSize])
	cases := []ruleCase{
		does("suspend", nil, steers(provider.SteerSuspend),
			"HoldTasks i", "StoreHead i: Status=Suspended Version=v2 UpdatedAt=1000").returns("i Suspended at v2"),
		does("suspend by ID, with an event", nil, steers(provider.SteerSuspend, event, func(r *steerReq) { r.ID, r.Key = "i", provider.UUID{} }),
			"AppendEvents i/1: 1 after 2", "HoldTasks i", "StoreHead i: Status=Suspended Version=v2 Length=3 Bytes=22 UpdatedAt=1000"),
		does("resume", func(r *fakeRows) { r.change("i", suspended); r.task("i", 3) }, steers(provider.SteerResume),
			"ResumeTasks i", "StoreHead i: Status=Running Version=v2 UpdatedAt=1000").tells("tasks q:a:3"),
		does("resume what runs", nil, steers(provider.SteerResume), turned),
		does("unblock", func(r *fakeRows) {
			r.change("i", func(h *Head) { h.Blocked, h.RetryAt, h.Deliveries, h.NotBefore = true, 1500, 3, 1500 })
		}, steers(provider.SteerUnblock),
			"ClearBlocked i", "StoreHead i: Version=v2 Blocked=false RetryAt=0 UpdatedAt=1000 Deliveries=0 NotBefore=0"),

		refuses("the key is unknown", gone, steers(provider.SteerSuspend), provider.ErrNotFound),
		refuses("the ID is unknown", nil, steers(provider.SteerSuspend, func(r *steerReq) { r.ID, r.Key = "j", provider.UUID{} }), provider.ErrNotFound),
		refuses("it is being deleted", changedTo(deleting), steers(provider.SteerSuspend), provider.ErrNotFound),
		refuses("it is closed for a move", sealClosed, steers(provider.SteerSuspend), provider.ErrMoved),
		refuses("it is held for a move", sealHeld, steers(provider.SteerResume), provider.ErrMoved),
		refuses("it has ended", changedTo(ended), steers(provider.SteerTerminate, event), provider.ErrEnded),
		does("a repeat under the stored version", changedTo(func(h *Head) { h.Version = u("v2") }), steers(provider.SteerSuspend)).returns("i Running at v2"),
		does("an act with a request ID", nil, steers(provider.SteerSuspend, asked),
			"HoldTasks i", "SetActs i: 1", "StoreHead i: Status=Suspended Version=v2 UpdatedAt=1000"),
		does("a recorded act", func(r *fakeRows) { r.acts[u("i")] = strings.Repeat("-", actSize) + recorded }, steers(provider.SteerSuspend, asked)).returns("i Running at v1"),
		does("the oldest act is forgotten", func(r *fakeRows) { r.acts[u("i")] = strings.Repeat("-", provider.MaxActs*actSize) },
			steers(provider.SteerSuspend, asked),
			"HoldTasks i", "SetActs i: 100", "StoreHead i: Status=Suspended Version=v2 UpdatedAt=1000"),
		refuses("a refused act is not recorded", changedTo(ended), steers(provider.SteerSuspend, asked), provider.ErrEnded),
	}
	cases = append(cases, moveCases(event)...)
	cases = append(cases, dropCases(event)...)
	return append(cases, terminateCases(event)...)
}

// moveCases are about another version of the code.
func moveCases(event func(*steerReq)) []ruleCase {
	move := func(changes ...func(*steerReq)) rule {
		return steers(provider.SteerMove, append([]func(*steerReq){func(r *steerReq) { r.CodeVersion = "2" }, event}, changes...)...)
	}
	const moved = "StoreHead i: Kind=f:2:1 Version=v2 Length=3 Bytes=22 UpdatedAt=1000"
	appended := "AppendEvents i/1: 1 after 2"
	named := func(name string) func(*steerReq) { return func(r *steerReq) { r.Name = name } }
	lost := changedTo(nameless)
	return []ruleCase{
		does("move", nil, move(), appended, moved),
		does("move what a node has", func(r *fakeRows) {
			r.change("i", held)
			r.change("i", func(h *Head) { h.StickyOwner, h.StickyUntil = "o", 800 })
		}, move(named("f")),
			appended, moved+" LeaseToken= LeaseOwner= LeaseUntil=0 StickyOwner= StickyUntil=0"),
		does("move to a higher level", nil, move(func(r *steerReq) { r.EngineLevel = 5 }),
			appended, "StoreHead i: Kind=f:2:5 Version=v2 Length=3 Bytes=22 UpdatedAt=1000"),
		does("move what has lost its name", lost, move(named("g")), appended, "StoreHead i: Kind=g:2:1 Version=v2 Length=3 Bytes=22 UpdatedAt=1000"),
		refuses("move what has lost its name, without one", lost, move(), provider.ErrInvalid),
		refuses("move under another name", nil, move(named("g")), provider.ErrInvalid),
		refuses("move what was changed since", nil, move(func(r *steerReq) { r.Expected = u("v9") }), provider.ErrConflict),
		does("move what was shown", nil, move(func(r *steerReq) { r.Expected = u("v1") }), appended, moved),
	}
}

// dropCases are about a message that goes to the dead letters.
func dropCases(event func(*steerReq)) []ruleCase {
	drop := func(id int64, changes ...func(*steerReq)) rule {
		return steers(provider.SteerDrop, append([]func(*steerReq){func(r *steerReq) { r.MessageID, r.Reason = id, "why" }}, changes...)...)
	}
	return []ruleCase{
		does("drop the first message", twoMessages, drop(3, event),
			"DeadLetterMessage i: 3, why", "AppendEvents i/1: 1 after 2", "StoreHead i: Version=v2 Length=3 Bytes=22 UpdatedAt=1000 Inbox=1 InboxBytes=2"),
		does("drop the only message of what is ready", func(r *fakeRows) { r.message("i", 3, 900) }, drop(3),
			"DeadLetterMessage i: 3, why", "StoreHead i: Version=v2 UpdatedAt=1000 Inbox=0 InboxBytes=0").tells("turns f:1:1"),
		does("drop a message that is not visible yet", func(r *fakeRows) { r.message("i", 3, 2000); r.message("i", 4, 3000) }, drop(3),
			"DeadLetterMessage i: 3, why", "StoreHead i: Version=v2 UpdatedAt=1000 ReadyAt=3000 Inbox=1 InboxBytes=2").tells("due 3000"),
		refuses("drop a message that is gone", twoMessages, drop(9, event), provider.ErrNotFound,
			"DeadLetterMessage i: 9, why: no").guardedBy("DeadLetterMessage"),
	}
}

// terminateCases are about the end from outside, and who is told.
func terminateCases(event func(*steerReq)) []ruleCase {
	terminate := func(changes ...func(*steerReq)) rule { return steers(provider.SteerTerminate, changes...) }
	const over = "StoreHead i: Status=Terminated Version=v2 UpdatedAt=1000 EndedAt=1000"
	gone := []string{"RemoveTasks i/1", "LeaveSessions i"}
	up := func(r *steerReq) {
		m := msg("up")
		r.ParentNotice = &m
	}
	parent := func(changes ...func(*Head)) func(*fakeRows) {
		return func(r *fakeRows) {
			r.instance("p", changes...)
			r.change("i", func(h *Head) { h.Parent = provider.Parent{Key: u("p"), Execution: 1, EventID: 3} })
		}
	}
	return []ruleCase{
		does("terminate", nil, terminate(event, func(r *steerReq) { r.Result = []byte("out") }),
			"AppendEvents i/1: 1 after 2", gone[0], gone[1], "SetResult i: out",
			"StoreHead i: Status=Terminated Version=v2 Length=3 Bytes=22 UpdatedAt=1000 EndedAt=1000").tells("changed i, notice i/1/0"),
		does("terminate with messages, suspended", func(r *fakeRows) { twoMessages(r); r.change("i", suspended) }, terminate(),
			append(gone[:2:2], "DeadLetterInbox i: 2, the instance was terminated", over+" ReadyAt=0 Inbox=0 InboxBytes=0")...),
		does("the parent is told", parent(suspended), terminate(up),
			append(gone[:2:2], "PutMessage p: 5 at 1000 of 1/3 up", over, "StoreHead p: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6")...),
		does("no parent", nil, terminate(up), append(gone[:2:2], over)...),
		does("the parent is in another execution", parent(func(h *Head) { h.Execution = 2 }), terminate(up), append(gone[:2:2], over)...),
		does("the parent has ended", parent(ended), terminate(up), append(gone[:2:2], over)...),
		does("the parent is gone", func(r *fakeRows) { parent()(r); r.removed("p") }, terminate(up), append(gone[:2:2], over)...),
		refuses("the parent has lost its name", parent(nameless), terminate(func(r *steerReq) { m := leveled(5); r.ParentNotice = &m }), provider.ErrInvalid,
			gone...).late("who is told is looked at behind the end"),
		does("children are told", func(r *fakeRows) {
			r.attached = []provider.UUID{u("c"), u("d"), u("e"), u("f")}
			r.instance("c", suspended)
			r.instance("d", ended)
			r.instance("e")
		}, terminate(func(r *steerReq) { m := msg("dn"); r.ChildNotice = &m }),
			append(gone[:2:2], "PutMessage c: 5 at 1000 dn", "PutMessage e: 5 at 1000 dn", over,
				"StoreHead c: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6", "StoreHead e: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6")...),
		does("others are told, and one is gone", func(r *fakeRows) { r.instance("p") }, terminate(func(r *steerReq) {
			no := msg("no")
			r.Notices = []provider.OutMessage{{Key: u("p"), Message: msg("hi")}, {ID: "q", Message: msg("hi"), Refused: &no}}
		}),
			"PutMessage p: 5 at 1000 hi", "PutMessage i: 5 at 1000 no", gone[0], gone[1], "DeadLetterInbox i: 1, the instance was terminated",
			over+" NextMessage=6", "StoreHead p: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"),
	}
}

// resetCases are about Reset, of Steer and to a prefix.
func resetCases() []ruleCase {
	reset := func(changes ...func(*steerReq)) rule {
		return steers(provider.SteerReset, append([]func(*steerReq){func(r *steerReq) { r.Events, r.EngineLevel = [][]byte{[]byte("s1")}, 1 }}, changes...)...)
	}
	left := []string{"AddExecution i/1: Reset, 2 events", "RemoveTasks i/1", "SetResult i: "}
	const opened = "StoreHead i: Execution=2 Version=v2 Length=1 Bytes=2 UpdatedAt=1000"
	replaced := func(r *fakeRows) {
		r.change("i", ended)
		r.instance("j", func(h *Head) { h.ID = "i" })
	}
	cases := []ruleCase{
		does("reset", nil, reset(),
			append(left[:3:3], "AppendEvents i/2: 1 after 0", opened+" ReadyAt=1000")...).returns("i Running at v2").tells("turns f:1:1, notice i/1/0"),
		does("reset with an event", nil, reset(func(r *steerReq) { r.Event = []byte("e3") }),
			"AppendEvents i/1: 1 after 2", "AddExecution i/1: Reset, 3 events", "RemoveTasks i/1", "SetResult i: ", "AppendEvents i/2: 1 after 0",
			opened+" ReadyAt=1000"),
		does("reset what has ended", changedTo(ended), reset(),
			"AddExecution i/1: Completed, 2 events", "RemoveTasks i/1", "SetResult i: ", "AppendEvents i/2: 1 after 0",
			"StoreHead i: Status=Running Execution=2 Version=v2 Length=1 Bytes=2 UpdatedAt=1000 EndedAt=0 ReadyAt=1000"),
		does("reset what a node has", func(r *fakeRows) {
			r.change("i", held)
			r.change("i", func(h *Head) {
				h.Blocked, h.RetryAt, h.NotBefore, h.StickyOwner, h.StickyUntil = true, 1500, 1500, "o", 800
			})
		}, reset(),
			append(left[:3:3], "AppendEvents i/2: 1 after 0", "StoreHead i: Execution=2 Version=v2 Length=1 Bytes=2 Blocked=false RetryAt=0"+
				" UpdatedAt=1000 ReadyAt=1000 Deliveries=0 LeaseToken= LeaseOwner= LeaseUntil=0 StickyOwner= StickyUntil=0 NotBefore=0")...),
		does("reset keeps an earlier moment, even of a timer", func(r *fakeRows) { r.timer("i", 3, 900, 1, 2) }, reset(),
			left[0], left[1], "RemoveTimers i/1", left[2], "AppendEvents i/2: 1 after 0", opened+" Inbox=0 InboxBytes=0"),
		does("reset does not wait for a message", func(r *fakeRows) { r.message("i", 3, 2000) }, reset(),
			append(left[:3:3], "AppendEvents i/2: 1 after 0", opened+" ReadyAt=1000")...),
		does("reset lowers the level", changedTo(levelFive), reset(),
			append(left[:3:3], "AppendEvents i/2: 1 after 0", "StoreHead i: Kind=f:1:1 Execution=2 Version=v2 Length=1 Bytes=2 UpdatedAt=1000 ReadyAt=1000")...),
		does("reset keeps the level for what waits", func(r *fakeRows) { r.change("i", levelFive); twoMessages(r) }, reset(),
			append(left[:3:3], "AppendEvents i/2: 1 after 0", opened)...),
		refuses("reset what was replaced", replaced, reset(), provider.ErrExists),
		refuses("reset what was replaced by one that is gone", func(r *fakeRows) { replaced(r); delete(r.current, "i") }, reset(), provider.ErrEnded),
		refuses("reset what was changed since", nil, reset(func(r *steerReq) { r.Expected = u("v9") }), provider.ErrConflict),
		refuses("reset what has lost its name", changedTo(nameless), reset(), provider.ErrInvalid,
			left...).late("its level depends on what waits once its timers are removed"),
	}
	return append(cases, prefixCases(left, opened)...)
}

// prefixCases are about a reset to a prefix.
func prefixCases(left []string, opened string) []ruleCase {
	filled := []string{"AppendEvents i/2: 1 after 0", "ClearAttributes i: ", "SetRequests i: ", "SetCustomStatus i: "}
	link := provider.ChildLink{Key: u("c"), EventID: 3}
	linked := func(r *resetReq) { r.Children = []provider.ChildLink{link} }
	child := func(changes ...func(*Head)) func(*fakeRows) {
		return func(r *fakeRows) {
			r.instance("c", append([]func(*Head){func(h *Head) { h.Parent = provider.Parent{Key: u("i"), Execution: 1, EventID: 3} }}, changes...)...)
		}
	}
	about := func(m *Message) { m.Execution, m.EventID = 1, 3 }
	join := func(lists ...[]string) (all []string) {
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	const noChild = "what is left of a child moves from the old execution to the next one"
	return []ruleCase{
		does("to a prefix", nil, resets(), join(left, filled, []string{opened + " ReadyAt=1000"})...).returns("i Running at v2"),
		does("to a prefix of other code, at a higher level", nil, resets(func(r *resetReq) { r.Name, r.CodeVersion, r.EngineLevel = "g", "2", 6 }),
			join(left, filled, []string{"StoreHead i: Kind=g:2:6 Execution=2 Version=v2 Length=1 Bytes=2 UpdatedAt=1000 ReadyAt=1000"})...),
		refuses("to a prefix that was changed since", nil, resets(func(r *resetReq) { r.Expected = u("v9") }), provider.ErrConflict),
		does("messages of the prefix come before those that wait", twoMessages, resets(func(r *resetReq) {
			r.Prefix.Messages = []provider.CarriedMessage{{Message: msg("c1"), At: 600}, {Message: msg("c2"), At: 950}}
			r.Prefix.Tasks, r.Prefix.Timers = []provider.NewTask{{EventID: 1, Queue: "q", Name: "a"}}, []provider.Timer{{EventID: 1, Due: 2000}}
		}),
			join(left, []string{
				"AppendEvents i/2: 1 after 0", "AddTask i/2/1: Kind=q:a:3 State=queued Attempt=1 NotBefore=1000 FetchAt=1000",
				"PutMessage i: 5 at 2000 timer of 2/1", "PutMessage i: 6 at 600 c1", "PutMessage i: 7 at 899 c2",
			}, filled[1:], []string{opened + " ReadyAt=600 Inbox=5 InboxBytes=8 NextMessage=8"})...).tells("turns f:1:1, tasks q:a:3, notice i/1/0"),
		does("a child that runs follows", child(), resets(linked),
			join(left, []string{"MoveChild c: i/2/3"}, filled, []string{
				opened + " ReadyAt=1000", "StoreHead c: Version=" + named(resetReq{Commit: u("v2")}.ChildVersion(link)) + " UpdatedAt=1000",
			})...),
		does("the message of a child that has ended follows", func(r *fakeRows) { child(ended)(r); r.message("i", 3, 900, about) }, resets(linked),
			join(left, []string{"MoveMessages i/3: to 2"}, filled, []string{opened})...),
		refuses("no child runs", child(ended), resets(linked), provider.ErrConflict, left...).late(noChild),
		refuses("no child runs and no message of it waits", func(r *fakeRows) { twoMessages(r) }, resets(linked), provider.ErrConflict,
			join(left, []string{"MoveMessages i/3: to 2: no"})...).late(noChild),
		refuses("the child of another event", child(func(h *Head) { h.Parent.EventID = 4 }), resets(linked), provider.ErrConflict, left...).late(noChild),
		does("a notice that is refused waits in the inbox", nil, resets(func(r *resetReq) {
			no := msg("no")
			r.Notices = []provider.OutMessage{{Key: u("q"), Message: msg("hi"), Refused: &no}}
		}),
			join(left, filled, []string{"PutMessage i: 5 at 1000 no", opened + " ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"})...),
	}
}
