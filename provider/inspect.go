package provider

import "context"

// Inspector is implemented by providers that show what they store row by row, so that a
// whole store can be checked.
type Inspector interface {
	// Inspect answers the stored rows of one kind as they stand, also those that no method of Provider
	// would answer: rows whose key is gone, and rows of executions that have ended.
	//
	// Rows come in order of key, then as InspectKind says, a page at a time: Cursor leads on to the
	// next page, and each page is one state of the store. With Key set only rows of that key are answered. A page has at most Max rows,
	// and instances end it once their payloads reach [MaxFetchBytes]. Payloads of events, messages and tasks are left out. A lease
	// tells its owner, whether it is over by the storage's clock, and whether the storage knows
	// that the owner is dead. Inspect changes nothing.
	Inspect(ctx context.Context, req InspectRequest) (InspectResult, error)
}

// InspectKind names the rows that Inspect answers.
type InspectKind uint8

// The kinds of rows, and their order within a key. Instances are all, also replaced ones and
// those marked for deletion. Executions are those before the current one, by number. History and
// tasks come by execution and event ID, messages by VisibleAt and ID. A lapsed lease is there
// until the storage or who takes over ends it. Of the last five kinds only the keys are answered, each once.
const (
	InspectInstances InspectKind = iota + 1
	InspectExecutions
	InspectHistory
	InspectMessages
	InspectTasks
	InspectTurnLeases
	InspectAsks
	InspectValues
	InspectAttributes
	InspectOutcomes
	InspectDeadLetters
)

// InspectRequest asks for a page of rows.
type InspectRequest struct {
	Kind   InspectKind
	Key    UUID   // only rows of this key; zero for all
	Cursor string // "" for the first page, else InspectResult.Cursor
	Max    int    // 1 to MaxPage; 0: MaxPage
}

// InspectResult is a page: the list of the kind asked for. Cursor is "" after the last one.
type InspectResult struct {
	Instances  []Instance // without Attributes
	Executions []ExecutionRow
	History    []HistoryRow
	Messages   []MessageRow
	Tasks      []TaskRow
	TurnLeases []TurnLeaseRow
	Keys       []UUID     // of the kinds that answer keys only
	Faults     []RowFault // rows in the place of which there is nothing to answer: they hide no other row
	Cursor     string
	Now        Time
}

// ExecutionRow is an execution that is over; the instance's row describes the current one.
type ExecutionRow struct {
	Key       UUID
	Execution int64
	Status    Status
	Length    int64 // of its history
}

// HistoryRow stands for events that are stored together: Count of them, from First on.
type HistoryRow struct {
	Key       UUID
	Execution int64
	First     int64
	Count     int64
}

// MessageRow is a message in the inbox of Key, without its payload.
type MessageRow struct {
	Message
	Key UUID
}

// TaskRow is a pending task.
type TaskRow struct {
	TaskRef
	State           TaskState
	CancelRequested bool
	Lease           LeaseRow // in state TaskLeased
}

// TurnLeaseRow is the lease of an instance for a turn.
type TurnLeaseRow struct {
	Key   UUID
	Lease LeaseRow
}

// LeaseRow is a lease as it is stored.
type LeaseRow struct {
	Owner     string
	Until     Time
	Over      bool // by the storage's clock
	OwnerGone bool // the storage knows that the owner is dead; false: it lives, or nobody knows
}

// RowFault is a row that cannot be read.
type RowFault struct {
	Key    UUID // zero if that cannot be read either
	Reason string
}
