package provider

import "time"

// TaskRef identifies an activity task: the event that scheduled it.
type TaskRef struct {
	Key       UUID
	Execution int64
	EventID   int64
}

// The parts of a task's rank; see Provider.FetchTasks.
const (
	PriorityHighest = 1
	PriorityDefault = 3
	PriorityLowest  = 5

	PriorityStep = time.Hour   // how much earlier a task ranks for each step of its priority
	FairnessStep = time.Minute // how much later a task ranks than the one before it with the same fairness key
)

// NewTask is an activity task to be stored by a turn's commit.
type NewTask struct {
	EventID     int64
	Queue       string
	Name        string
	Payload     []byte
	Priority    int    // 1 (first) to 5; 0 means PriorityDefault
	FairnessKey string // "" for none, as are the next two
	Session     string
	LimitKey    string
	NotBefore   time.Duration // delay until it may be fetched
	StartBy     time.Duration // from now until it is past its time if it has not begun; 0: none
	Deadline    time.Duration // from now until it is past its time; 0: none
	Lease       *TaskLease    // written already leased to the committer (hand-off)
}

// TaskLease is a lease that the committer of a hand-off task chooses itself.
type TaskLease struct {
	Token    UUID
	Owner    string
	Duration time.Duration
}

// ExecutionStateKind says whether the execution that wants a result exists and runs.
type ExecutionStateKind uint8

// The kinds of execution states. Suspended counts as Running.
const (
	ExecutionRunning ExecutionStateKind = iota + 1
	ExecutionTerminal
	ExecutionMissing
)

// ExecutionState is the state of the execution that wants a task's result. Status is
// set when Kind is ExecutionTerminal.
type ExecutionState struct {
	Kind   ExecutionStateKind
	Status Status
}

// QueueFilter names a queue and those of its activities that a node can run.
type QueueFilter struct {
	Queue     string
	Names     []string
	MaxLeased int // 0: no limit; the lowest of several for one queue counts
}

// FetchTasksRequest asks for tasks. Token, made by the caller, names the fetch; see [TaskToken].
type FetchTasksRequest struct {
	Owner    string
	Token    UUID
	Lease    time.Duration
	Queues   []QueueFilter
	Expired  bool // also tasks past their time, of every queue and name
	Sessions SessionClaim
	Max      int
	Wait     time.Duration
}

// LeasedTask is a task leased to a node.
type LeasedTask struct {
	TaskRef
	InstanceID      string
	Queue           string
	Name            string
	Payload         []byte
	Priority        int
	Attempt         int64 // from 1; raised by Retry
	Deliveries      int64 // leases of this attempt, this one included
	LeaseUntil      Time
	State           ExecutionState
	CancelRequested bool
	PastDeadline    bool // it is past its Deadline or StartBy: leased to be ended, not for work
	ScheduledAt     Time
	Rank            Time // its place among fetchable tasks, or among those past their time
	StartBy         Time
	Deadline        Time
	Details         []byte // last heartbeat details
	Failure         []byte // of the last attempt
}

// FetchTasksResult has the tasks taken.
type FetchTasksResult struct {
	Tasks    []LeasedTask
	Sessions int // how many Owner holds now, if the fetch claims any
	Now      Time
}

// TaskOutcome is what a report does.
type TaskOutcome uint8

// The outcomes of a report; see Provider.ReportTasks.
const (
	TaskComplete TaskOutcome = iota + 1
	TaskRetry
	TaskPark
	TaskRelease
	TaskDiscard
	TaskPoison
	TaskReleaseAll
)

// TaskReport is one report.
type TaskReport struct {
	TaskRef // all outcomes except ReleaseAll
	Token   UUID
	Attempt int64 // all outcomes except ReleaseAll
	Outcome TaskOutcome
	Message NewMessage    // Complete and Poison: the result, for the inbox
	Delay   time.Duration // Retry, Release and ReleaseAll
	Begun   bool          // Release and ReleaseAll: the code has begun to run, so that StartBy no longer ends the task
	Limit   time.Duration // Park: from now until it is past its time, in addition to its Deadline; 0: none
	Failure []byte        // Retry
	Details []byte        // nil keeps the stored heartbeat details
	Reason  string        // Poison: for the dead letters
}

// ReportTasksRequest reports on tasks.
type ReportTasksRequest struct{ Items []TaskReport }

// TaskReportResult is the result of one report.
type TaskReportResult struct {
	Err   error
	State ExecutionState
}

// ReportTasksResult has one result per item, in order.
type ReportTasksResult struct {
	Items []TaskReportResult
	Now   Time
}

// TaskRenewal is one lease to renew.
type TaskRenewal struct {
	TaskRef
	Token   UUID
	Details []byte // heartbeat details to store; nil keeps
}

// RenewTasksRequest renews leases, each until Lease from now.
type RenewTasksRequest struct {
	Items        []TaskRenewal
	Lease        time.Duration
	Owner        string // whose sessions are extended; "": none are
	SessionLease time.Duration
}

// TaskRenewalResult is the result of one renewal.
type TaskRenewalResult struct {
	Err             error // nil or ErrLeaseLost
	State           ExecutionState
	CancelRequested bool
	Paused          bool // the instance is Suspended
	LeaseUntil      Time // 0 for a parked task, which has no lease
}

// RenewTasksResult has one result per item, in order.
type RenewTasksResult struct {
	Items    []TaskRenewalResult
	Sessions int // how many Owner holds now
	Now      Time
}

// TaskState is where a pending task is.
type TaskState uint8

// The states of a pending task.
const (
	TaskQueued TaskState = iota + 1
	TaskLeased
	TaskParked
)

// TaskInfo describes a pending task to an observer. A task whose lease has expired is shown
// as queued, without Owner and LeaseUntil.
type TaskInfo struct {
	TaskRef
	Queue        string
	Name         string
	Priority     int
	FairnessKey  string
	Session      string
	SessionOwner string // the owner that holds the session now; "": none does
	State        TaskState
	Attempt      int64
	Deliveries   int64
	Owner        string
	LeaseUntil   Time
	NotBefore    Time // without a delay, the moment at which it was queued
	StartBy      Time
	Deadline     Time
	ScheduledAt  Time
	Details      []byte
	Failure      []byte
}
