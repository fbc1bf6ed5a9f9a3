package relational

import "github.com/perdure/perdure/provider"

// Rows is what a transaction does with the rows of a store. Reads see all writes before them. Writes may be held back
// until the transaction ends: their errors come then.
type Rows interface {
	KindRows
	InstanceRows
	InboxRows
	HistoryRows
	TaskRows
	SessionRows
}

// KindRows are the numbers for what fetches filter by.
type KindRows interface {
	// Kinds answers all kinds that are known.
	Kinds() (*Kinds, error)
	// NewTurnKind stores a kind, which is then among Kinds.
	NewTurnKind(kind TurnKind) (int64, error)
	// NewTaskKind does the same for tasks.
	NewTaskKind(kind TaskKind) (int64, error)
}

// InstanceRows are the instances and what describes them.
type InstanceRows interface {
	// LoadHead reads a head; nil if there is no such instance.
	LoadHead(key provider.UUID) (*Head, error)
	// Current answers the key under an ID, zero if there is none.
	Current(id string) (provider.UUID, error)
	// Rivals answers the instance under the ID and the one that has the key, nil for none.
	Rivals(id string, key provider.UUID) (sameID, sameKey *Rival, err error)
	// Instance answers the whole row.
	Instance(key provider.UUID) (provider.Instance, error)
	// TurnsOf answers the instances that a token leases.
	TurnsOf(token provider.UUID) ([]provider.UUID, error)
	// Attached answers the children with close policy Cancel.
	Attached(parent provider.UUID) ([]provider.UUID, error)

	InsertInstance(h *Head, req *provider.CreateRequest) error
	// Retire takes the ID from an instance that is replaced.
	Retire(key provider.UUID) error
	StoreHead(h *Head) error
	// Block stores why an instance cannot make a turn; the flag itself is in the head. Fresh begins a new count.
	Block(key provider.UUID, failure *provider.TurnFailure, now provider.Time, fresh bool) error
	// ClearBlocked forgets it.
	ClearBlocked(key provider.UUID) error
	SetCustomStatus(key provider.UUID, status []byte) error // empty clears
	SetResult(key provider.UUID, result []byte) error       // nil clears
	SetAttributes(key provider.UUID, list []provider.Attribute) error
	SetValue(key provider.UUID, v provider.KeyValue) error // a nil value removes it
}

// InboxRows are the messages that wait.
type InboxRows interface {
	// Waiting calls fn for the messages of an inbox in order until it answers false. The named ones
	// are all that a caller wants of those before the first other one.
	Waiting(key provider.UUID, named []int64, fn func(Waiting) (more bool)) error
	// FirstVisible answers when the earliest message is visible.
	FirstVisible(key provider.UUID) (provider.Time, error)
	// Timers answers how many timers of an execution wait, and their bytes.
	Timers(key provider.UUID, execution int64) (count, bytes int64, err error)

	PutMessage(key provider.UUID, m *Message) error
	// RemoveMessages removes what a commit consumed.
	RemoveMessages(key provider.UUID, meal Meal) error
	// RemoveTimer removes one timer and answers its bytes; false if there is none.
	RemoveTimer(key provider.UUID, execution, event int64) (bytes int64, found bool, err error)
	RemoveTimers(key provider.UUID, execution int64) error
	// BuryInbox moves an inbox to the dead letters.
	BuryInbox(h *Head, reason string, now provider.Time) error
}

// HistoryRows are the events and the executions that are over.
type HistoryRows interface {
	AppendEvents(h *Head, count int, packed []byte) error
	AddExecution(key provider.UUID, execution int64, status provider.Status, length int64) error
	// ExecutionStatus answers how an earlier execution ended, 0 if it is unknown.
	ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error)
}

// TaskRows are the activity tasks.
type TaskRows interface {
	// TasksOf returns the tasks that a token leases: its own, or those of the fetch that it names.
	TasksOf(token provider.UUID) ([]provider.TaskRef, error)
	// Task reads a task; nil if there is none.
	Task(ref provider.TaskRef) (*Task, error)

	// Turns answers what a new task of a lane comes after.
	Turns(of Lane) (Turns, error)
	AddTask(task *Task, stored *provider.NewTask) error
	// StoreTask writes back what a report or renewal changed. Nil details keep the stored ones.
	StoreTask(task *Task, details []byte) error
	RemoveTask(ref provider.TaskRef) error
	RemoveTasks(key provider.UUID, execution int64) error
	// CompleteTask removes a task that its token holds; false if it does not.
	CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error)
	// HoldTasks keeps all tasks of an instance from being fetched, until ResumeTasks.
	HoldTasks(key provider.UUID) error
	ResumeTasks(t *Tx, h *Head) error
	// BuryTask leaves a copy in the dead letters.
	BuryTask(task *Task, instanceID, reason string, now provider.Time) error
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

// Place is where a message stands in its inbox.
type Place struct {
	VisibleAt provider.Time
	ID        int64
}

// Meal is what a commit consumes, in order.
type Meal struct {
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

// Task is what reports and renewals of a task work on.
type Task struct {
	provider.TaskRef
	Kind       int64
	Session    string
	State      provider.TaskState
	Attempt    int64
	Deliveries int64
	Token      provider.UUID
	Owner      string
	LeaseUntil int64 // of the elapsed clock; 0: none
	Cancel     bool
	Begun      bool // as far as StartBy asks
	NotBefore  provider.Time
	StartBy    provider.Time
	Deadline   provider.Time
	Rank       provider.Time // by its fairness key, while it waits for its first lease; else 0
	FetchAt    provider.Time // when a fetch may take it, or its Rank; 0: not now
	ExpireAt   provider.Time // when a fetch takes it as past its time; 0: never
	Failure    []byte        // of the last attempt; nil keeps the stored one
}

// TimeUp is when the task is past its time; 0: never.
func (task *Task) TimeUp() provider.Time {
	if task.Begun || task.StartBy == 0 {
		return task.Deadline
	}
	if task.Deadline == 0 {
		return task.StartBy
	}
	return min(task.StartBy, task.Deadline)
}
