package relational

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// Rows reads and writes the rows of a store in one transaction. Reads see all earlier writes. Writes may be deferred
// until the transaction ends, and fail only then.
type Rows interface {
	Queryer
	KindRows
	InstanceRows
	InboxRows
	HistoryRows
	TaskRows
	SessionRows
	OpenerRows
}

// KindRows are the numbers of kinds.
type KindRows interface {
	// Kinds returns all known kinds.
	Kinds() (*Kinds, error)
	// NewTurnKind stores a kind and adds it to Kinds.
	NewTurnKind(kind TurnKind) (int64, error)
	// NewTaskKind stores a kind of task and adds it to Kinds.
	NewTaskKind(kind TaskKind) (int64, error)
	// Unknown returns the error for a number that Kinds does not have. A store whose Kinds may be old reads them and runs the
	// call again.
	Unknown(id int64) error
}

// InstanceRows are the instances with their attributes, values and results.
type InstanceRows interface {
	// LoadHead reads a head, nil if there is no such instance.
	LoadHead(key provider.UUID) (*Head, error)
	// Current returns the key under an ID, zero if there is none.
	Current(id string) (provider.UUID, error)
	// Rivals returns the instance under the ID and the one with the key, nil for none.
	Rivals(id string, key provider.UUID) (sameID, sameKey *Rival, err error)
	// Instance reads the whole row.
	Instance(key provider.UUID) (provider.Instance, error)
	// TurnsOf returns the instances that a token leases.
	TurnsOf(token provider.UUID) ([]provider.UUID, error)
	// Attached returns the children with close policy Cancel.
	Attached(parent provider.UUID) ([]provider.UUID, error)

	InsertInstance(h *Head, req *provider.CreateRequest) error
	// Retire frees the ID of an instance that is replaced.
	Retire(key provider.UUID) error
	StoreHead(h *Head) error
	// Block stores why turns of an instance fail. The flag itself is in the head. Fresh restarts the count of failures.
	Block(key provider.UUID, failure *provider.TurnFailure, now provider.Time, fresh bool) error
	// ClearBlocked removes what Block stored.
	ClearBlocked(key provider.UUID) error
	SetCustomStatus(key provider.UUID, status []byte) error // empty clears
	// SetResult stores a result and what is said of a failure, which may be nil. Without either it clears both.
	SetResult(key provider.UUID, result []byte, failure *Failure) error
	// Acts returns what SetActs stored: the request IDs of Steer that the instance has recorded.
	Acts(key provider.UUID) ([]byte, error)
	SetActs(key provider.UUID, acts []byte) error
	SetAttributes(key provider.UUID, list []provider.Attribute) error
	// SetListener stores the listener of a new instance, and that it has one.
	SetListener(key provider.UUID, l *provider.Listener) error
	// Listener reads the listener of an instance, nil if there is none.
	Listener(key provider.UUID) (*provider.Listener, error)
	SetValue(key provider.UUID, v provider.KeyValue) error // a nil value removes it
}

// InboxRows are the messages that wait.
type InboxRows interface {
	// Waiting calls fn for the messages of an inbox in order until fn returns false. It may skip unnamed messages beyond the
	// call's [InboxNeed].
	Waiting(key provider.UUID, named []int64, fn func(Waiting) (more bool)) error
	// FirstVisible returns when the earliest message is visible.
	FirstVisible(key provider.UUID) (provider.Time, error)
	// Timers returns how many timers of an execution wait, and their size in bytes.
	Timers(key provider.UUID, execution int64) (count, bytes int64, err error)

	PutMessage(key provider.UUID, m *Message) error
	// RemoveMessages removes the messages that a commit consumed.
	RemoveMessages(key provider.UUID, consumed Consumed) error
	// RemoveTimer removes one timer and returns its size in bytes, and false if there is none.
	RemoveTimer(key provider.UUID, execution, event int64) (bytes int64, found bool, err error)
	RemoveTimers(key provider.UUID, execution int64) error
	// DeadLetterMessage moves one message to the dead letters. It returns its size in bytes, and false if it does not wait.
	DeadLetterMessage(h *Head, id int64, reason string, now provider.Time) (bytes int64, found bool, err error)
	// AddRequest records a request that delivers messages. It returns false if the request is recorded already.
	AddRequest(key provider.UUID, request string) (fresh bool, err error)
	// DeadLetterInbox moves an inbox to the dead letters.
	DeadLetterInbox(h *Head, reason string, now provider.Time) error
}

// HistoryRows are the events and the executions that are over.
type HistoryRows interface {
	AppendEvents(h *Head, count int, packed []byte) error
	// AddExecution records that an execution was left at an instant.
	AddExecution(key provider.UUID, execution int64, status provider.Status, length int64, at provider.Time) error
	// ExecutionStatus returns how an earlier execution ended, 0 if that is unknown.
	ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error)
}

// TaskRows are the activity tasks.
type TaskRows interface {
	// TasksOf returns the tasks that a token leases: its own, or those of the fetch that it names.
	TasksOf(token provider.UUID) ([]provider.TaskRef, error)
	// Task reads a task, nil if there is none.
	Task(ref provider.TaskRef) (*Task, error)

	// LaneRanks returns the ranks that a new task of a lane comes after.
	LaneRanks(of Lane) (LaneRanks, error)
	AddTask(task *Task, stored *provider.NewTask) error
	// StoreTask writes a task that a report or renewal changed. Nil details keep the stored ones.
	StoreTask(task *Task, details []byte) error
	// DropRank removes the stored rank of a task.
	DropRank(task *Task) error
	RemoveTask(ref provider.TaskRef) error
	RemoveTasks(key provider.UUID, execution int64) error
	// CompleteTask removes a task that the token holds. It returns false if the token does not hold it.
	CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error)
	// HoldTasks withholds all tasks of an instance from fetches until ResumeTasks.
	HoldTasks(key provider.UUID) error
	// ResumeTasks undoes HoldTasks and records in fx which kinds became fetchable.
	ResumeTasks(fx *Effects, h *Head) error
	// DeadLetterTask copies a task to the dead letters.
	DeadLetterTask(task *Task, instanceID, reason string, now provider.Time) error
}

// SessionRows are the sessions of tasks.
type SessionRows interface {
	// TasksWatched reports whether the end of a task matters to anybody: because there are sessions, or because a fetch of
	// this process waits for a place in a queue. Otherwise a commit ends tasks without reading them.
	TasksWatched() (bool, error)
	// UseSession records that somebody works on a task, if its owner still holds the session. It forgets a session that has
	// ended, as ForgetEnded does. It is called before the task changes.
	UseSession(task *Task) error
	// ForgetEnded removes a session that has ended. It is called before a task of the session is leased without a claim: by that
	// lease its last owner would hold it again.
	ForgetEnded(session string) error
	// ExtendSessions extends the sessions that an owner holds to a lease that begins now, and counts them.
	ExtendSessions(owner string, lease time.Duration) (held int, err error)
	// LeaveSessions ends the sessions of an instance that is over and has no tasks any more. One with other tasks passes to the
	// instance of the oldest of them.
	LeaveSessions(key provider.UUID) error
	// EndSessions lets sessions last only as long as their owner has an unexpired lease of one of their tasks.
	EndSessions(ids []string) error
}

// Rival is a stored instance that a new one collides with.
type Rival struct {
	Key      provider.UUID
	ID       string
	Status   provider.Status
	Deleting bool
	Request  string
}

// Waiting is a message of an inbox without its payload.
type Waiting struct {
	Place
	Bytes     int64
	Timer     bool
	Execution int64
}

// Place is the position of a message in its inbox.
type Place struct {
	VisibleAt provider.Time
	ID        int64
}

// Consumed are the messages that a commit consumes, in order.
type Consumed struct {
	Places []Place
	Prefix bool // they are the first ones of the inbox
	Bytes  int64
}

// Message is a message to be stored.
type Message struct {
	Place
	Kind      provider.MessageKind
	Timer     bool
	Execution int64
	EventID   int64
	Payload   []byte
}

// Task is the part of a task's row that reports and renewals work on.
type Task struct {
	provider.TaskRef
	Kind       int64
	Session    string
	State      provider.TaskState
	Attempt    int64
	Deliveries int64
	Token      provider.UUID
	Owner      string
	LeaseUntil int64 // on the lease clock; 0: none
	Cancel     bool
	Begun      bool // StartBy no longer applies
	NotBefore  provider.Time
	StartBy    provider.Time
	Deadline   provider.Time
	Rank       provider.Time // by its fairness key, until its first lease; else 0
	FetchAt    provider.Time // when a fetch may take it, or its Rank; 0: not now
	ExpireAt   provider.Time // when a fetch takes it as past its time; 0: never
	Failure    []byte        // of the last attempt; nil keeps the stored one
}

// Lane is the sequence of tasks with one fairness key in one queue.
type Lane struct{ Queue, Key string }

// LaneRanks are the ranks of tasks with fairness keys that wait for their first lease; 0 for none.
type LaneRanks struct {
	First provider.Time // of the queue, with any key
	Last  provider.Time // of the lane
}

// TimeUp returns when the task is past its time; 0: never.
func (task *Task) TimeUp() provider.Time {
	if task.Begun || task.StartBy == 0 {
		return task.Deadline
	}
	if task.Deadline == 0 {
		return task.StartBy
	}
	return min(task.StartBy, task.Deadline)
}
