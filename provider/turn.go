package provider

import "time"

// Capability is one orchestration that a node can run.
type Capability struct {
	Name        string
	CodeVersion string
}

// FetchTurnsRequest asks for instances with work. Token, made by the caller, becomes the
// lease token of every turn returned.
type FetchTurnsRequest struct {
	Owner        string // unique per process start
	Token        UUID
	Lease        time.Duration
	Capabilities []Capability
	EngineLevel  int64 // highest level that the node can run
	Max          int
	MaxMessages  int // per instance; 0: MaxFetchMessages
	MaxBytes     int // of messages per instance; 0: MaxFetchBytes
	Wait         time.Duration
	Ahead        time.Duration // Features.Ahead: at most MaxAhead; 0: only what is visible
}

// Turn is an instance leased for one turn.
type Turn struct {
	Instance Instance
	Messages []Message
	More     bool // further messages are visible
}

// FetchTurnsResult has the turns taken.
type FetchTurnsResult struct {
	Turns []Turn
	Now   Time
}

// Timer is a message from the instance to itself that becomes visible at Due. Timers are
// keyed by (execution, EventID).
type Timer struct {
	EventID int64
	Kind    MessageKind
	Due     Time
	Payload []byte
}

// OutMessage is a message to another instance, named by Key, or by ID when Key is zero.
type OutMessage struct {
	ID      string
	Key     UUID
	Message NewMessage
	Refused *NewMessage // put into the sender's inbox if the target is gone or ended; nil: dropped and counted
	Replies *Replies    // instead of Refused; nil: the limits of an inbox do not apply
}

// Replies say what became of a message. The sender gets one of them. With Replies the limits of [Provider.Send] apply
// to the message. If the sender ends in the same commit, it gets no Accepted, and any other one goes to the dead letters.
type Replies struct {
	Accepted NewMessage // the message is in the inbox
	Gone     NewMessage // there is no such instance, or it is being deleted
	Ended    NewMessage // the instance has ended, or this commit ends it
	Full     NewMessage // the inbox is full
}

// Start is an instance started by a commit, with or without a parent.
type Start struct {
	Create   CreateRequest // Policy IDReject or IDReplaceEnded, no First
	Refused  NewMessage    // put into the sender's inbox if the ID or Key is in use
	Accepted *NewMessage   // put there otherwise, also for a repeat of the RequestID, unless the sender ends in the same commit; nil: nothing
}

// TaskCompletion completes, within a turn's commit, a task whose result the turn has
// consumed from memory (hand-off).
type TaskCompletion struct {
	EventID int64
	Token   UUID
}

// CancelTask requests the cancellation of a task of the execution. A task that is not
// leased is removed. A leased one is flagged: its renewal returns CancelRequested. With
// Remove, a leased task is removed, too. A task whose lease has expired counts as not
// leased, and a parked task as leased.
type CancelTask struct {
	EventID int64
	Remove  bool
}

// NextExecution opens the next execution in a commit (continue-as-new). Its history
// begins with Events. Unconsumed messages stay in the inbox. While messages wait, the engine level does not fall.
type NextExecution struct {
	Name        string // "" keeps the orchestration
	CodeVersion string
	EngineLevel int64
	Events      [][]byte
	Message     *NewMessage // put into the instance's inbox so that the new execution is fetched; the provider fills Execution
}

// CommitTurnRequest is one turn of one instance.
type CommitTurnRequest struct {
	Key       UUID
	Execution int64
	Expected  UUID  // Version that the turn was computed from
	Length    int64 // history length that it was computed from
	Commit    UUID  // the new Version, unique to this turn
	Lease     UUID  // token of the turn lease to end; zero for a hand-off turn
	Ahead     bool  // Lease must hold the instance: no message was visible when it was fetched

	Completes    []TaskCompletion
	Consumed     []int64 // message IDs
	Events       [][]byte
	Tasks        []NewTask
	CancelTasks  []CancelTask
	Timers       []Timer
	CancelTimers []int64 // event IDs; one may be gone
	Sends        []OutMessage
	Starts       []Start
	EndSessions  []string

	Status       Status // StatusRunning to go on; an ended one closes the instance
	Result       []byte // with an ended status: the opaque outcome
	Excerpt      []byte // with StatusFailed: of the error, opaque, for lists; at most MaxExcerpt. Features.FailureGroups: else it is ignored
	FailureGroup string // with StatusFailed: which failures are alike; "": none. As Excerpt
	CloseInbox   string // reason: a closing commit moves waiting messages to the dead letters
	Next         *NextExecution
	CustomStatus []byte      // nil keeps, empty clears
	Attributes   []Attribute // set or replaced by name; nil keeps
	Values       []KeyValue
	EngineLevel  int64 // 0 keeps; the stored level never falls within an execution

	Owner  string        // with Sticky: only this owner fetches the instance for that long
	Sticky time.Duration // Features.Sticky: 0: any owner may fetch it
}

// CommitTurnResult is the result of a stored commit.
type CommitTurnResult struct {
	Now     Time
	ReadyAt Time // when the earliest message left in the inbox is visible, timers included; 0: none
}

// TurnFailure says why a turn failed.
type TurnFailure struct {
	Reason string
	// Message may be any bytes, even invalid UTF-8. They are kept as they are.
	Message string
	Hold    bool // until Unblock
}

// ReleaseKind says what a TurnRelease ends.
type ReleaseKind uint8

// The kinds of releases; see Provider.ReleaseTurns.
const (
	ReleaseClean  ReleaseKind = iota // the lease that Token holds; the delivery is not counted
	ReleaseFailed                    // the same lease, after a turn that failed
	ReleaseToken                     // all leases that Token holds
	ReleaseUnpin                     // the stickiness that Owner has
)

// TurnRelease is one item of a release.
type TurnRelease struct {
	Kind    ReleaseKind
	Key     UUID          // all kinds except ReleaseToken
	Token   UUID          // all kinds except ReleaseUnpin
	Owner   string        // ReleaseUnpin
	Delay   time.Duration // all kinds except ReleaseUnpin
	Failure *TurnFailure  // ReleaseFailed
}

// ReleaseTurnsRequest ends leases.
type ReleaseTurnsRequest struct{ Items []TurnRelease }

// ReleaseTurnsResult has one error (or nil) per item, in order.
type ReleaseTurnsResult struct{ Errs []error }
