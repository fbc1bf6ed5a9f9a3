package replay

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Code sees these limits as errors, so a replay must judge as the live run did. They belong to the flags: a release
// that changes one does so under a new flag.
const (
	// reservedEvents and reservedBytes of a history are kept for cancelling, cleaning up and ending.
	reservedEvents = 1_000
	reservedBytes  = 4 << 20
	// maxPendingActivities bounds the activities that one execution waits for.
	maxPendingActivities = 10_000
	// maxPending bounds all operations that one execution waits for: cancelling them must fit into one commit.
	maxPending = 11_000
	// maxLocals bounds the local activities that one execution waits for. All of a turn run at once. Those that do not
	// end in it become tasks in its commit.
	maxLocals = 100
	// maxBurst and maxBurstBytes bound what code may ask for in reaction to one message. Together with the cancelling of
	// everything that is pending it fits into one commit.
	maxBurst      = 12_000
	maxBurstBytes = provider.MaxCommitBytes / 2
	// A turn with maxTurn events or maxTurnBytes to store takes no further message.
	maxTurn      = provider.MaxCommitRows - maxBurst - maxPending - 3*maxLocals - 100
	maxTurnBytes = provider.MaxCommitBytes / 8
	// maxUnread bounds the events that are carried over to the next execution.
	maxUnread = provider.MaxCommitRows / 2
	// maxSeen is how many request IDs an instance remembers to drop repeats.
	maxSeen = 10_000
)

// A history of this length still works, but costs memory and time. The log then warns once. Code sees it as
// Info.ContinueAsNewSuggested, so these numbers belong to the flags, too.
const (
	warnEvents = 4_096
	warnBytes  = 4 << 20
)

// Rough costs in memory, in bytes.
const (
	coroutineBytes = 8 << 10 // a parked coroutine
	pendingBytes   = 512     // an operation that code waits for
	namedBytes     = 128     // a mailbox or a remembered request ID, without its name
)

// The scheduler behaviours. A change of what code sees gets a flag here. Old histories replay with the flags that they
// were started with. A new command needs no flag: no old history has its events. It needs a level: see LevelOf.
const (
	flagOneByOne = 1 << iota // messages are applied one at a time
	flagScopes               // a returned coroutine's scope is over; detached scopes may use the reserve
	flagTogether             // in place of flagOneByOne: the messages of a turn are applied before code continues
	flagHandlers             // handlers go on when the main function has returned
	flagExact                // values that JSON would change are refused where code gives them
	flagCarry                // the plain form of continue-as-new carries the Serial updates that wait for their turn
)

// EngineLevel is the highest level of stored executions that this release can run. A release raises it if older
// releases must not touch its executions. Level 2: a limit on the bytes of a history. Level 3: what giving up an
// activity does. Level 4: timeouts and places of activities, and the list of their attempts. Level 5: a delayed start.
// Level 6: patches. Level 7: the messages of a turn are applied together. Level 8: see LevelOfHandlers. Level 9: see
// LevelOfReach. Level 10: see LevelOfAnchors. Level 11: see LevelOfExact. Level 12: see LevelOfLanguage.
const EngineLevel = 12

// LowestLevel is the level of an execution that uses nothing newer. LevelOfDelay is that of a delayed start, and
// LevelOfPatch that of the marker of a patch.
const (
	LowestLevel  = 4
	LevelOfDelay = 5
	LevelOfPatch = 6
	// LevelOfTogether is that of an execution whose code continues after all messages of a turn.
	LevelOfTogether = 7
	// LevelOfHandlers is that of handlers that go on when the main function has returned: their flag, and MainReturned. It is
	// that of updates, of a message with a header, of a start that names its root or when the first execution began, of a
	// task that names its orchestration, of a message with which code learns of a newer version, of an instance that was
	// moved to another version, and of an execution that a reset or fork has opened, too.
	LevelOfHandlers = 8
	// LevelOfReach is that of what code starts without being its parent and sends to other instances, of the replies to that, and of
	// an instance of which another one is told the end.
	LevelOfReach = 9
	// LevelOfAnchors is that of a message without a header that has an anchor, and of a task that names the span of the attempt before.
	LevelOfAnchors = 10
	// LevelOfExact is that of an execution whose code cannot give a value that JSON would change.
	LevelOfExact = 11
	// LevelOfLanguage is that of what the second half of the language stores: sealed values, options of children, and an execution whose plain
	// continue-as-new carries the updates that wait.
	LevelOfLanguage = 12
)

// LevelOf returns the lowest level of the nodes that can apply an event. A stored execution has the highest one of its
// events, and a message that of the event that it becomes.
func LevelOf(b history.Body) int64 {
	switch b := b.(type) {
	case *history.ExecutionStarted:
		switch {
		case b.Previous != nil, b.Settings.Flags&flagCarry != 0:
			return LevelOfLanguage
		case b.Settings.Flags&flagExact != 0:
			return LevelOfExact
		case b.HasListener:
			return LevelOfReach
		case b.Settings.Flags&flagHandlers != 0, len(b.Updates) > 0, len(b.Header) > 0, b.Root.ID != "", b.Began != 0, b.Seed != nil:
			return LevelOfHandlers
		case b.Settings.Flags&flagTogether != 0:
			return LevelOfTogether
		case b.Delay > 0:
			return LevelOfDelay
		}
	case *history.EventReceived:
		return levelOfHeader(b.Header)
	case *history.CancelRequested:
		return levelOfHeader(b.Header)
	case *history.ChildStarted:
		if b.Cancellation != 0 || b.Close != 0 || b.TellStart || len(b.Attributes)+len(b.Header) > 0 {
			return LevelOfLanguage
		}
	case *history.PatchMarked:
		return LevelOfPatch
	case *history.MainReturned, *history.UpdateReceived, *history.UpdateAccepted, *history.UpdateRejected, *history.UpdateCompleted,
		*history.ForkPoint:
		return LevelOfHandlers
	case *history.DetachedStarted:
		if len(b.Attributes)+len(b.Events) > 0 {
			return LevelOfLanguage
		}
		return LevelOfReach
	case *history.EventSent, *history.CancelSent, *history.ReplyReceived:
		return LevelOfReach
	}
	return LowestLevel
}

func levelOfHeader(header []byte) int64 {
	if len(header) > 0 {
		return LevelOfHandlers
	}
	return LowestLevel
}

// LevelOfEvent is LevelOf with what the event has besides its body.
func LevelOfEvent(e *history.Event) int64 {
	if e.Anchor != "" {
		return LevelOfAnchors
	}
	if e.Newer {
		return LevelOfHandlers
	}
	return LevelOf(e.Body)
}

// LevelOfMessage returns the level of a message that becomes the event. It is 0 for what every node reads, so that such a
// message never raises the level of an old instance.
func LevelOfMessage(b history.Body) int64 {
	if level := LevelOf(b); level > LowestLevel {
		return level
	}
	return 0
}

// SettingsAt returns the settings of new executions on a store that allows a level: the limits, and the behaviours that
// nodes of this level know.
func SettingsAt(level int64) history.Settings {
	flags := int64(flagScopes | flagOneByOne)
	if level >= LevelOfTogether {
		flags = flagScopes | flagTogether
	}
	if level >= LevelOfHandlers {
		flags |= flagHandlers
	}
	if level >= LevelOfExact {
		flags |= flagExact
	}
	if level >= LevelOfLanguage {
		flags |= flagCarry
	}
	return history.Settings{MaxPayload: 2 << 20, MaxEvents: 50_000, MaxBytes: 50 << 20, Flags: flags}
}
