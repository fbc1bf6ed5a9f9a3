package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// inboxCases are about Send and about the redrive of dead letters.
func inboxCases() []ruleCase {
	const delivered = "StoreHead i: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"
	cases := []ruleCase{
		does("send", nil, sends(), "PutMessage i: 5 at 1000 hi", delivered).returns("i 5").tells("turns f:1:1"),
		does("send by ID, about an event", nil, sends(func(r *sendReq) { r.ID, r.Key, r.Message.Execution, r.Message.EventID = "i", provider.UUID{}, 1, 3 }),
			"PutMessage i: 5 at 1000 of 1/3 hi", delivered),
		does("send with a delay", nil, sends(func(r *sendReq) { r.Message.Delay = us(200) }),
			"PutMessage i: 5 at 1200 hi", "StoreHead i: ReadyAt=1200 Inbox=1 InboxBytes=2 NextMessage=6").tells("due 1200"),
		does("send behind another message", twoMessages, sends(),
			"PutMessage i: 5 at 1000 hi", "StoreHead i: Inbox=3 InboxBytes=6 NextMessage=6").returns("i 5"),
		does("send to a suspended instance", changedTo(suspended), sends(), "PutMessage i: 5 at 1000 hi", delivered),
		does("send to what is held for a move", sealHeld, sends(), "PutMessage i: 5 at 1000 hi", delivered),
		does("send what needs a higher level", nil, sends(func(r *sendReq) { r.Message = leveled(5) }),
			"PutMessage i: 5 at 1000", "StoreHead i: Kind=f:1:5 ReadyAt=1000 Inbox=1 NextMessage=6"),
		refuses("send what needs a higher level to an instance without a name", changedTo(nameless), sends(func(r *sendReq) { r.Message = leveled(5) }),
			provider.ErrInvalid),
		does("a message ends a claim ahead of its time", and(changedTo(held), func(r *fakeRows) { r.timer("i", 3, 2000, 1, 2) }), sends(),
			"PutMessage i: 5 at 1000 hi", "StoreHead i: ReadyAt=1000 Inbox=2 InboxBytes=4 NextMessage=6 Deliveries=1 LeaseToken= LeaseOwner= LeaseUntil=0").
			tells("turns f:1:1"),
		does("a later message leaves a claim ahead of time", and(changedTo(held), func(r *fakeRows) { r.timer("i", 3, 2000, 1, 2) }),
			sends(func(r *sendReq) { r.Message.Delay = us(2000) }),
			"PutMessage i: 5 at 3000 hi", "StoreHead i: Inbox=2 InboxBytes=4 NextMessage=6"),
		does("a message leaves a turn that is due", and(changedTo(held), func(r *fakeRows) { r.message("i", 3, 900) }), sends(),
			"PutMessage i: 5 at 1000 hi", "StoreHead i: Inbox=2 InboxBytes=4 NextMessage=6"),
		refuses("the key is unknown", gone, sends(), provider.ErrNotFound),
		refuses("the ID is unknown", nil, sends(func(r *sendReq) { r.ID, r.Key = "j", provider.UUID{} }), provider.ErrNotFound),
		refuses("it is being deleted", changedTo(deleting), sends(), provider.ErrNotFound),
		refuses("it is closed for a move", sealClosed, sends(), provider.ErrMoved),
		refuses("it has ended", changedTo(ended), sends(), provider.ErrEnded),
		refuses("it has too many messages", func(r *fakeRows) {
			twoMessages(r)
			r.change("i", func(h *Head) { h.Inbox = provider.MaxInboxMessages })
		}, sends(), provider.ErrInboxFull),
		refuses("its messages are too large", func(r *fakeRows) {
			twoMessages(r)
			r.change("i", func(h *Head) { h.InboxBytes = provider.MaxInboxBytes - 1 })
		}, sends(), provider.ErrInboxFull),
		does("the last one that fits", func(r *fakeRows) {
			twoMessages(r)
			r.change("i", func(h *Head) { h.Inbox, h.InboxBytes = provider.MaxInboxMessages-1, provider.MaxInboxBytes-2 })
		}, sends(),
			"PutMessage i: 5 at 1000 hi", "StoreHead i: Inbox=100000 InboxBytes=268435456 NextMessage=6"),
	}
	return append(cases, redriveCases()...)
}

// redriveCases are about dead letters that go back to where they came from.
func redriveCases() []ruleCase {
	message := provider.DeadLetter{ID: 7, Key: u("i"), Execution: 1, EventID: 3, Kind: 2, Payload: []byte("dl")}
	task := provider.DeadLetter{ID: 8, Task: true, Key: u("i"), Execution: 1, EventID: 3, Queue: "q", Name: "a"}
	redrive := func(ids ...int64) rule {
		return func(t *Tx) (string, error) {
			var res provider.DeadLettersResult
			err := t.redrive(ids, &res)
			return fmt.Sprint(res.Done), err
		}
	}
	letter := func(l provider.DeadLetter, timer bool) func(*fakeRows) {
		return func(r *fakeRows) { r.letters[l.ID] = DeadLetterRow{DeadLetter: l, Timer: timer} }
	}
	const delivered = "StoreHead i: ReadyAt=1000 Inbox=1 InboxBytes=2 NextMessage=6"
	return []ruleCase{
		does("redrive a message, named twice", letter(message, false), redrive(7, 7),
			"PutMessage i: 5 at 1000 of 1/3 dl", "DropDeadLetters [7]", delivered).returns("1"),
		does("redrive a timer", letter(message, true), redrive(7), "PutMessage i: 5 at 1000 timer of 1/3 dl", "DropDeadLetters [7]", delivered).returns("1"),
		does("redrive the timer of another execution, which is a message", and(letter(message, true), changedTo(func(h *Head) { h.Execution = 2 })),
			redrive(7),
			"PutMessage i: 5 at 1000 of 1/3 dl", "DropDeadLetters [7]", delivered).returns("1"),
		does("redrive a task", letter(task, false), redrive(8),
			"AddTask i/1/3: Kind=q:a:3 State=queued Attempt=1 NotBefore=1000 FetchAt=1000", "DropDeadLetters [8]").returns("1").tells("tasks q:a:3"),
		does("redrive a task that is stored", and(letter(task, false), taskGiven()), redrive(8)).returns("0"),
		does("redrive a task of another execution", and(letter(task, false), changedTo(func(h *Head) { h.Execution = 2 })), redrive(8)).returns("0"),
		does("redrive what is not there", nil, redrive(7)).returns("0"),
		does("redrive to what is gone", and(letter(message, false), gone), redrive(7)).returns("0"),
		does("redrive to what has ended", and(letter(message, false), changedTo(ended)), redrive(7)).returns("0"),
	}
}
