package provider

import "context"

// Inspector is implemented by providers that return their stored rows, so that a whole store
// can be checked.
type Inspector interface {
	// Inspect returns the stored rows of one kind as they are. That includes rows that no method of Provider
	// would return: rows whose key is gone, and rows of ended executions.
	//
	// Rows come in order of key, then in the order of their InspectKind, a page at a time. Cursor leads to the next
	// page, and each page is one state of the store. With Key, only rows of that key are returned. A page has at
	// most Max rows, and a page of instances ends once their payloads reach [MaxFetchBytes]. Payloads of events,
	// messages and tasks are left out. A lease has its owner, whether it has expired by the storage's clock, and
	// whether the storage knows that the owner is dead. Inspect changes nothing.
	Inspect(ctx context.Context, req InspectRequest) (InspectResult, error)
}

// InspectKind names the rows that Inspect returns.
type InspectKind uint8

// The kinds of rows, and their order within a key. Instances include replaced ones and those
// marked for deletion. Executions are those before the current one, by number. History and
// tasks come by execution and event ID, messages by VisibleAt and ID. An expired lease is
// included until the storage or the next owner ends it. An instance with a result or a
// custom status has an outcome. For the last five kinds only the keys are returned, each once.
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
	Keys       []UUID     // for the kinds that return only keys
	Faults     []RowFault // rows that cannot be read; they hide no other row
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
	Over      bool // expired by the storage's clock
	OwnerGone bool // the storage knows that the owner is dead; false: it is alive, or that is unknown
}

// RowFault is a row that cannot be read.
type RowFault struct {
	Key    UUID // zero if that cannot be read either
	Reason string
}
