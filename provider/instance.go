package provider

import "time"

// Status is the state of an instance or of one execution of it.
type Status uint8

// The statuses. ContinuedAsNew and Reset are statuses of executions only.
const (
	StatusRunning Status = iota + 1
	StatusSuspended
	StatusCompleted
	StatusFailed
	StatusCancelled
	StatusTerminated
	StatusContinuedAsNew
	StatusReset
)

var statusNames = [...]string{ //nolint:gochecknoglobals // constant table
	"Unknown", "Running", "Suspended", "Completed", "Failed", "Cancelled", "Terminated", "ContinuedAsNew", "Reset",
}

// String returns the status's name, such as "Running".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return statusNames[0]
}

// Ended reports whether s is final for an execution. An ended instance never runs again;
// Reset opens another execution.
func (s Status) Ended() bool { return s >= StatusCompleted }

// ParseStatus returns the status with the given name. ok is false for an unknown name.
func ParseStatus(name string) (s Status, ok bool) {
	for i, n := range statusNames {
		if i > 0 && n == name {
			return Status(i), true
		}
	}
	return 0, false
}

// IDPolicy says what Create does when the ID is in use.
type IDPolicy uint8

// The ID conflict policies. The zero value rejects.
const (
	IDReject IDPolicy = iota
	IDUseExisting
	IDReplaceEnded
)

// ClosePolicy says what happens to a running child when its parent ends.
type ClosePolicy uint8

// The close policies: Cancel delivers a cancel message to the child, Abandon leaves it alone.
const (
	CloseCancel ClosePolicy = iota
	CloseAbandon
)

// Parent names the event of the execution that started a child.
type Parent struct {
	Key       UUID
	ID        string
	Execution int64
	EventID   int64
	Close     ClosePolicy
}

// Blocked is the visible flag of an instance that cannot make a turn.
type Blocked struct {
	Reason  string // short and machine-readable, such as "panic"
	Message string // the last error in full; any bytes, which a JSON string would change
	Count   int64  // failed turns in a row
	Since   Time
	RetryAt Time // 0: held until Unblock
}

// AttributeKind is the type of an attribute's value.
type AttributeKind uint8

// The kinds of attributes. Text uses Attribute.Text; the others use Attribute.Number
// (Bool 0 or 1, Instant as Time).
const (
	AttributeText AttributeKind = iota + 1
	AttributeInt
	AttributeBool
	AttributeInstant
)

// Attribute is a typed, plain field of an instance that List filters on.
type Attribute struct {
	Name   string
	Kind   AttributeKind
	Text   string
	Number int64
}

// KeyValue is one key-value of an instance. In a commit a nil Value deletes the key.
type KeyValue struct {
	Key   string
	Value []byte
}

// Instance is the stored row of an instance.
type Instance struct {
	ID            string
	Key           UUID
	Name          string // of the orchestration
	CodeVersion   string // of the orchestration's code; "" is a version like any other
	Status        Status
	Deleting      bool
	Execution     int64 // current execution, from 1
	Version       UUID  // the fence: ID of the last commit
	HistoryLength int64 // events of the current execution
	HistoryBytes  int64
	EngineLevel   int64
	Parent        Parent   // zero Key: none
	Blocked       *Blocked // nil: not blocked
	RequestID     string   // of the Create that made it
	CustomStatus  []byte
	Result        []byte      // opaque outcome; set when ended
	Excerpt       []byte      // of a failed one; empty if it has none, as of what an older release closed
	FailureGroup  string      // as Excerpt
	Attributes    []Attribute // by name
	CreatedAt     Time
	UpdatedAt     Time // last change of Version
	EndedAt       Time // 0 while not ended
	ReadyAt       Time // when the earliest inbox message is visible, or when a reset began to wait for its turn; 0: never
	InboxMessages int64
	Deliveries    int64 // turn leases since the last commit
}

// Listener is an instance that gets a message at the end of another one.
type Listener struct {
	Key     UUID
	Message NewMessage // its Delay counts from the end
}

// CreateRequest asks for a new instance. Commit becomes its first Version.
type CreateRequest struct {
	ID          string
	Key         UUID // from NewKey
	Commit      UUID
	Name        string
	CodeVersion string
	EngineLevel int64
	Policy      IDPolicy
	Replaces    UUID         // IDReplaceEnded: only the instance with this key; zero: any
	RequestID   string       // unique to the caller's request, "" for none
	Parent      Parent       // zero Key for a root
	Attributes  []Attribute  // of several with one name, the last one counts
	Message     NewMessage   // the start message
	Messages    []NewMessage // at most MaxBatch, for the new instance or the existing one
	Listener    *Listener    // nil: none
	// First is a turn of execution 1, computed from Commit and length 0. It has no Lease, Completes and Consumed,
	// and leaves the instance Running. Message then has no Delay. nil: none. Messages have no Delay then, either.
	First *CommitTurnRequest
}

// CreateResult has the instance under the ID and reports whether this request created it.
type CreateResult struct {
	Instance Instance
	Created  bool
	Begun    bool // First is stored, and is the last commit of the instance
	Now      Time
}

// GetRequest names an instance by Key, or by ID when Key is zero. WaitEnded, WaitValue and Mark are three kinds
// of wait; a request has at most one of them.
type GetRequest struct {
	ID          string
	Key         UUID
	WaitEnded   bool          // block until the instance has ended
	WaitValue   bool          // block until the key-value that Value names is stored and differs from OldValue
	OldValue    []byte        // with WaitValue: the value that does not end the wait; nil: every value ends it
	Mark        string        // not "": block until GetResult.Mark differs from it
	WaitBlocked bool          // with WaitEnded or WaitValue: a Blocked instance also ends the wait
	Wait        time.Duration // longest time to block; 0 returns at once
	WithTasks   bool
	WithValues  bool
	WithMark    bool   // set GetResult.Mark, as Mark does
	Value       string // not "": the key-value of this name goes into GetResult.Value
}

// GetResult has the stored instance.
type GetResult struct {
	Instance    Instance
	Tasks       []TaskInfo // WithTasks: pending activity tasks, by event ID
	Values      []KeyValue // WithValues: by key
	Value       *KeyValue  // the key-value that GetRequest.Value names; nil: none is stored
	DeadLetters int64      // WithTasks: how many dead letters the instance has
	Mark        string     // a hash of the other fields, for GetRequest.Mark
	Now         Time
}

// SteerAction is what Steer does.
type SteerAction uint8

// The actions of Steer.
const (
	SteerSuspend SteerAction = iota + 1
	SteerResume
	SteerTerminate
	SteerUnblock
	SteerReset
	SteerMove
	SteerDrop
)

// SteerRequest names an instance by Key, or by ID when Key is zero.
type SteerRequest struct {
	ID           string
	Key          UUID
	Action       SteerAction
	Commit       UUID         // the new Version
	Event        []byte       // appended to the history; nil for none
	Result       []byte       // Terminate: the opaque outcome
	ParentNotice *NewMessage  // Terminate: to the parent; EventID and Execution are filled by the provider
	ChildNotice  *NewMessage  // Terminate: to each running child with CloseCancel
	Notices      []OutMessage // Terminate: to any other instances
	Events       [][]byte     // Reset: the new execution's history
	EngineLevel  int64        // Reset: of the new execution, no lower than before while messages wait; Move: raises that of the current one
	Expected     UUID         // Reset and Move: the Version that the caller saw; zero: whichever is stored
	CodeVersion  string       // Move: the new one
	Name         string       // Move: of an instance that has lost its name; "" keeps the stored one
	RequestID    string       // unique to the caller's act on this instance, "" for none
	MessageID    int64        // Drop
	Reason       string       // Drop: for the dead letters
}

// SteerResult has the instance after the change.
type SteerResult struct {
	Instance Instance
	Now      Time
}
