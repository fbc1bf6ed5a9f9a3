package observe

import "time"

// Kind says what an Event reports.
type Kind uint8

// The kinds of events. Each names the fields that it sets besides Kind and At, and those of the execution where there is one.
const (
	// Turn is a turn that ended: Outcome, Source, Took, Wait.
	Turn Kind = iota + 1
	// Replay is an execution that was rebuilt from its history for a turn: Took.
	Replay
	// Started is an instance whose first turn is stored.
	Started
	// Ended is the end of an execution: Outcome, Took since the start of the instance (of the execution, if it continues as new)
	// and Count, the events of its history.
	Ended
	// Blocked is an instance that became blocked, or is so for another reason than before: Reason.
	Blocked
	// Attempt is an attempt of an activity that ended: Activity, Queue, EventID, Attempt, Local, Outcome, Took, Wait, Total and
	// Cancel.
	Attempt
	// Handled is an event, an update or a request to cancel that became part of a history: Name, Source and From.
	Handled
	// Query is a query that this node answered: Name, Outcome, Took.
	Query
	// Update is an update that got its outcome: Name, Outcome, Took since it was received.
	Update
	// Storage is a call of the store that does not wait for work: Name of the method, Outcome, Took.
	Storage
	// Poisoned is a task that was set aside: Activity, Queue.
	Poisoned
	// LeaseLost is a lease that another node or the store had taken away: Reason.
	LeaseLost
	// Dropped are messages of no use to their execution: Reason, Count.
	Dropped
	// Scheduled is what became of due times of a schedule: Outcome and Count. Begun tells of an instance that a schedule has started, with
	// the time from its due time until its first turn was stored as Took; NoTime for a backfill or a trigger, and with other outcomes.
	// Those are told by the schedule; the execution is then its own, and Orchestration that of its instances.
	Scheduled
	// Counted is a count that code of an orchestration has made in a turn: Name, Attrs and Count, which is the sum of the turn.
	Counted
	// Observed is a value that code of an orchestration has observed: Name, Attrs and Value.
	Observed
)

// Outcome says how something ended.
type Outcome string

// The outcomes of events. A kind has some of them.
const (
	Stored     Outcome = "stored"     // turn
	Conflict   Outcome = "conflict"   // turn: another commit came first
	Failed     Outcome = "failed"     // turn, execution, attempt for good, query, update, storage call, action of a schedule
	Stuck      Outcome = "stuck"      // turn: its code did not return
	Completed  Outcome = "completed"  // execution, attempt, query, update
	Cancelled  Outcome = "cancelled"  // execution, attempt
	Terminated Outcome = "terminated" // execution
	Continued  Outcome = "continued"  // execution: as new
	Retried    Outcome = "retried"    // attempt: another one follows
	TimedOut   Outcome = "timeout"    // attempt, for good
	Released   Outcome = "released"   // attempt: the node shuts down
	Lost       Outcome = "lost"       // attempt: its lease was lost, and its result with it
	Discarded  Outcome = "discarded"  // attempt: nobody wanted the result
	Rejected   Outcome = "rejected"   // query, update
	OK         Outcome = "ok"         // storage call
	Refused    Outcome = "refused"    // storage call: it changed nothing, by the rules of the contract
	Unknown    Outcome = "unknown"    // storage call: it may have happened
	Begun      Outcome = "started"    // action of a schedule
	Buffered   Outcome = "buffered"   // action of a schedule: it waits for the end of the run before
	Skipped    Outcome = "skipped"    // action of a schedule: runs before go on, or it waited when the schedule was paused
	Missed     Outcome = "missed"     // action of a schedule: no node was there in time
)

// The sources of a turn, and of what was handled.
const (
	FromMemory  = "memory"   // a result of this node, without a fetch
	FromCache   = "cached"   // fetched, and its execution was in the cache
	FromHistory = "replayed" // fetched, and its execution was rebuilt, which is quick for the first turn
	FromStart   = "eager"    // stored together with its start

	FromEvent  = "event"
	FromUpdate = "update"
	FromCancel = "cancel"
)

// NoTime in place of a duration says that it is not known, or has no meaning here.
const NoTime time.Duration = -1

// Attr is an attribute of a figure of user code.
type Attr struct{ Name, Value string }

// Event is something that happened. It is a plain value. It holds no inputs, results, error texts and other data of user code, except what code
// has counted and observed.
// Fields that a kind does not set are zero.
type Event struct {
	Kind Kind
	At   time.Time // when it ended, by the clock of this process

	Took   time.Duration
	Wait   time.Duration // before it began: of a turn since its first message was visible, of an attempt since its call or the delay of a retry; NoTime: not known
	Total  time.Duration // of an attempt that ended its call: since the call; otherwise NoTime
	Cancel time.Duration // of a cancelled attempt: from the request until its code came back; otherwise NoTime

	// Execution that it belongs to.
	Instance      string // ID
	Key           [16]byte
	Execution     int64
	Orchestration string
	Version       string // of its code; "": none
	Trace         string // context of its anchor span, see Span; "": none

	Activity string
	Queue    string
	EventID  int64 // of the call, or of the message
	Attempt  int64 // from 1
	Local    bool

	Name    string // of a query, an update, an event, or a method of the store
	Outcome Outcome
	Source  string
	Reason  string            // one of a few words
	From    map[string]string // header of the message
	Count   int64
	Value   float64 // that code has observed
	Attrs   []Attr  // of a figure of code, sorted by name; several events may share the list, so do not change it
}
