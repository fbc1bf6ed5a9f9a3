package provider

import "time"

// ReadHistoryRequest asks for events From (at least 1) to To (0: the end) of an execution
// (0: the current one).
type ReadHistoryRequest struct {
	Key       UUID
	Execution int64
	From      int64
	To        int64
	MaxBytes  int // 0: MaxFetchBytes
}

// Event is one stored event. Its place in the history is its ID.
type Event struct {
	ID   int64
	Data []byte
}

// ReadHistoryResult has events in order. More reports that events up to To remain.
type ReadHistoryResult struct {
	Events    []Event
	More      bool
	Execution int64
	Status    Status // of the execution
	Length    int64  // of the execution's whole history
	Version   UUID   // of the instance when it was read
}

// Filter chooses instances. Zero fields do not restrict.
type Filter struct {
	IDPrefix      string // compared byte by byte
	Name          string
	CodeVersions  []string // any of them; "" is a version like any other
	Statuses      []Status
	Blocked       bool // only blocked ones
	ParentKey     UUID
	ParentKeys    []UUID           // any of them; at most MaxPage
	CreatedAfter  Time             // inclusive
	CreatedBefore Time             // exclusive
	EndedAfter    Time             // inclusive; only ended ones
	EndedBefore   Time             // exclusive; only ended ones
	Attributes    []Attribute      // all must be equal
	Matches       []AttributeMatch // all must hold
	Replaced      bool             // also instances that another one has replaced, even if that one is deleted
	Retrying      bool             // Features.Retrying: only those with a pending task whose Attempt or Deliveries is above 1
	FailureGroup  string           // Features.FailureGroups: only those that failed with this group
}

// AttributeMatch is a condition on the attribute with a name. The attribute must exist, have the kind, and meet
// every condition that is set. Texts are in the order of their bytes.
type AttributeMatch struct {
	Name   string
	Kind   AttributeKind
	Any    []AttributeValue // not empty: the value is one of these
	Prefix string           // not "": the text begins with it
	From   *AttributeValue  // the value is at least this
	To     *AttributeValue  // the value is less than this
}

// AttributeValue is a value to compare with: Text for the kind text, Number for the others.
type AttributeValue struct {
	Text   string
	Number int64
}

// ListField is a field of Instance that may be large.
type ListField uint8

// The fields that a list can leave out.
const (
	ListAttributes ListField = iota + 1
	ListCustomStatus
	ListBlockedMessage
)

// ListRequest asks for a page.
type ListRequest struct {
	Filter Filter
	Cursor string      // "" for the first page, else ListResult.Cursor
	Max    int         // 1 to MaxPage; 0: MaxPage
	Omit   []ListField // fields that stay empty in the result
}

// ListResult is a page. Cursor is "" after the last one.
type ListResult struct {
	Instances []Instance
	Cursor    string
	Reached   Time // with a Cursor: all matching instances that were created later are on this page or an earlier one; 0: not known
	Now       Time
}

// CountRequest asks how many instances match.
type CountRequest struct {
	Filter Filter
	Max    int64 // not 0: count no further than this
}

// CountResult has their number, which is at most CountRequest.Max if that is set.
type CountResult struct {
	Count int64
	Exact bool // false: there may be more than Count
}

// StatsRequest asks for all figures or only for some, which cost no more in a store with many ended instances. The
// other figures may then be zero.
type StatsRequest struct {
	Waiting bool  // Turns, Tasks and Now
	Running bool  // Running and Now
	Most    int64 // not 0: count each item of Running no further than this
}

// RunningInstances is an orchestration, by name and code version, with instances that have not ended.
type RunningInstances struct {
	Capability

	Count  int64
	More   bool // there are more than Count, which is StatsRequest.Most
	Oldest Time // when the oldest of them was created
}

// WaitingTurns is a kind of orchestration with instances ready for a turn.
type WaitingTurns struct {
	Capability
	EngineLevel int64
	Count       int64
	Oldest      Time // the earliest ReadyAt of them
}

// WaitingTasks is a kind of activity with tasks that could be fetched.
type WaitingTasks struct {
	Queue  string
	Name   string
	Count  int64
	Oldest Time // since when the first of them could be fetched

	InSession int64 // how many of Count have a session, whoever holds it
}

// StatsResult is what Stats returns.
type StatsResult struct {
	Instances   map[Status]int64   // Running to Terminated
	Running     []RunningInstances // Running and Suspended, by name and version
	Blocked     int64
	Turns       []WaitingTurns // fetchable now by some owner, by name and version
	Tasks       []WaitingTasks // fetchable now but for MaxLeased and sessions, by queue and name
	TurnLeases  int64          // unexpired
	TaskLeases  int64          // unexpired
	DeadLetters int64
	Now         Time
}

// DeleteRequest names an instance by Key, or by ID when Key is zero.
type DeleteRequest struct {
	ID    string
	Key   UUID
	Force bool // also while it runs
}

// DeleteResult says how many instances were removed, children included.
type DeleteResult struct{ Instances int64 }

// PruneRequest deletes instances that ended at least Age ago, at most Max (0: 1,000). What goes with a parent does not count
// towards Max.
type PruneRequest struct {
	Age         time.Duration
	Max         int
	Names       []string // of the orchestrations; empty: all
	ExceptNames []string // orchestrations whose instances stay, unless they go with a parent
	Statuses    []Status // any of them; empty: all
	Spare       []UUID   // at most MaxSpared keys
	Cursor      string   // "" to begin with the oldest, else PruneResult.Cursor
	Look        bool     // remove nothing
}

// PruneResult says how many instances were removed. Cursor is "" once all that ended before the age were looked at. After Max it
// may lead to nothing more.
type PruneResult struct {
	Instances int64
	Cursor    string
	Trees     []PrunableTree // with Look
}

// PrunableTree is an instance that may be pruned.
type PrunableTree struct {
	Key       UUID
	Instances int64 // that go with it, itself included, without those of the other Trees
}
