package provider

import "context"

// Provider is a storage for durable executions. See the package comment for the
// rules that every method obeys.
type Provider interface {
	// Create stores a new instance together with its start message, atomically.
	//
	// The ID conflict policy is decided in storage: with an instance under the same ID,
	// Reject answers [ErrExists] (an [*ExistsError] that names it); UseExisting answers
	// the existing one with Created false; ReplaceEnded creates a new key if the old
	// instance has ended, and else answers ErrExists. The replaced instance stays
	// readable by its key. An instance that is being deleted counts as existing.
	// A Create that repeats the RequestID of the stored instance under that ID answers
	// that instance with Created true and changes nothing, so that a caller may retry
	// after an unknown outcome. Only Create (and Starts of a commit) insert instances.
	// First is the first turn of the instance, computed before it exists. If the call inserts the instance, that turn is stored with it,
	// all or nothing, as CommitTurn would after a fetch of the start message, which never enters the inbox. Begun tells that the stored
	// Version is First.Commit. An instance that the call does not insert stays as it is. A provider may ignore First: then Begun is false
	// and the start message waits in the inbox.
	Create(ctx context.Context, req CreateRequest) (CreateResult, error)

	// Get answers one instance, by ID (the current key under it) or by Key.
	//
	// An unknown instance answers [ErrNotFound]. With WaitEnded set the call blocks until
	// the instance has an ended status, is Blocked and WaitBlocked is set, or Wait has
	// passed, and then answers what is stored; it is told by the commit, not by a poll,
	// when that commit happened in this process.
	Get(ctx context.Context, req GetRequest) (GetResult, error)

	// Steer changes an instance from outside: suspend, resume, terminate, unblock, reset.
	//
	// It is not fenced: it applies to whatever is stored, atomically, and writes a new
	// Version, so that a turn in flight fails with ErrConflict. If the stored Version is
	// already req.Commit, the call succeeds again and changes nothing. An ended instance
	// answers [ErrEnded] for all but Reset. Terminate appends the caller's opaque Event at length+1, stores Result, removes all
	// tasks and timers of the execution (a leased task's next renewal answers Terminal), moves
	// the rest of the inbox to the dead letters, delivers ParentNotice to the inbox of a parent that still runs the execution which
	// started it, and ChildNotice to every running child with close policy Cancel.
	// Suspend keeps turns from being fetched and queued tasks from being started; Resume ends that. Unblock clears
	// the Blocked flag and its counts. Reset closes the current execution with status Reset
	// (or keeps its ended status) and opens the next one, Running, with Events as its history; tasks
	// and timers of the old one are removed, inbox messages stay. The next execution is ready for a turn at once, even
	// with an empty inbox. An instance that was replaced cannot be reset: it answers [ErrExists], or [ErrEnded]
	// if nobody has its ID any more.
	Steer(ctx context.Context, req SteerRequest) (SteerResult, error)

	// FetchTurns leases up to Max instances that have visible messages, with those messages.
	//
	// An instance is fetchable when it is Running, has a visible message (or ReadyAt has
	// come), holds no unexpired turn lease, is not held back by Blocked or by another
	// owner's stickiness, its (name, version) is among Capabilities, and its engine level
	// is at most EngineLevel. Others are left alone and never counted. Instances come in
	// order of ReadyAt. One that was held back, by a lease, a delay or Blocked, may count from
	// the moment at which it was free. Messages come in order (VisibleAt, ID), at most MaxMessages and
	// MaxBytes per instance (always at least one); More says that others are visible.
	// Each lease raises Deliveries durably before the call returns, and a commit sets it to 0.
	// The call blocks up to Wait while nothing is fetchable and returns as soon as
	// something is; it returns an empty result, not an error, when Wait has passed. No
	// history is returned.
	// With Ahead, messages that become visible within it count as visible, unless Blocked or a delay holds the instance back
	// for longer. So a turn is there at the very moment at which it is due; whoever leased it waits until then. A claim ahead, of
	// which no message is visible yet, ends when one arrives that is visible before all others, and its delivery is given back.
	// The engine needs no claims ahead: a provider may ignore Ahead, or answer some messages only when they are visible.
	FetchTurns(ctx context.Context, req FetchTurnsRequest) (FetchTurnsResult, error)

	// CommitTurn applies one turn of one instance: all of it, or nothing.
	//
	// If the stored Version is req.Commit the turn was stored before and the call succeeds
	// again. Any other mismatch of key, execution, Version or history length answers
	// [ErrConflict], as does a consumed message that is gone, a Suspended or ended instance
	// and one that is marked for deletion. A Completes item whose task is not leased under
	// its token answers [ErrLeaseLost]. A closing commit (Status not Running, or Next set
	// is not closing) fails with [ErrInboxNotEmpty] if messages wait that it does not
	// name in Consumed, timers of this execution excepted; with CloseInbox set they go to
	// the dead letters instead. In all these cases nothing is changed. Of several reasons to refuse the first
	// counts: ErrConflict, ErrInboxNotEmpty, ErrLeaseLost.
	// With Ahead, a Lease that does not hold the instance any more answers ErrConflict, too: something came first.
	// Order within the commit: fence, completes, consumed, events, tasks, timers, sends,
	// starts, status. It resets Deliveries, clears Blocked, and ends the turn lease if Lease names it.
	// Ending or continuing an execution removes all its tasks and timers in the same commit.
	// Sends and Starts are recorded with the commit and delivered at least once, in order
	// per (sender, target), deduplicated; a refusal (ID in use, target gone or ended) comes
	// back as the message that the caller gave for it, never as this call's error. A refusal to a sender
	// that ends in this commit goes to the dead letters.
	// The result tells ReadyAt of what is left in the inbox. Nobody is woken before the
	// commit is durable. Commits of different instances never fail each other.
	CommitTurn(ctx context.Context, req CommitTurnRequest) (CommitTurnResult, error)

	// ReleaseTurns ends turn leases without a commit, each item for itself.
	//
	// Without Failure the delivery is given back (Deliveries is lowered) and the instance
	// is fetchable after Delay. With Failure the Blocked flag is set or updated
	// (count, reason, message, retry time after Delay; Hold means until Unblock). An item
	// whose token no longer holds the lease answers ErrLeaseLost in its place. Releasing
	// twice changes nothing. The Version does not change. An item without a Key ends all leases that its Token holds: so whoever
	// does not know what a fetch has leased gives it back, and no delivery is counted.
	// Leases that have lapsed are not among them. A release ends stickiness, too. An item with Owner in place of a Token
	// ends nothing but the stickiness of its instance, if Owner has it.
	ReleaseTurns(ctx context.Context, req ReleaseTurnsRequest) (ReleaseTurnsResult, error)

	// FetchTasks leases up to Max activity tasks of the named queues and activity names.
	//
	// The lease token of each task is [TaskToken] of the request's Token and the task. The request's Token itself is the lease token of none.
	// A task is fetchable when it is queued (or its lease has expired), its NotBefore has
	// come, its instance is not Suspended and, unless Expired is asked for, it is not past its time.
	// It is past its time when its Deadline has passed, or its StartBy and it has not begun. A task has begun once it is
	// leased for work, that is before its time was past, unless that very lease is released without Begun. A lease that lapses leaves it
	// begun, and so does Retry: StartBy concerns the first attempt only. One that was handed off has begun, and so has one that was parked without a Limit.
	// Each item tells the ExecutionState of the execution
	// that wants the result, the Attempt, the Deliveries (raised by this lease), the last heartbeat
	// details and the last failure. Tasks of ended executions are normally removed when the
	// execution ends; one that is found is returned with its state, not leased for work.
	//
	// Tasks past their time come first, by that time. The others come by rank, and of one rank by insertion. The rank is the moment
	// from which the task may be fetched, [PriorityStep] earlier for each step of its Priority above the default and later for each below: what
	// has waited long enough goes before anything new. Suspend and Resume leave a task its rank. If its lease has lapsed, that may be the moment.
	// Fairness keys take turns: a new task with a FairnessKey and no NotBefore ranks as if it were due [FairnessStep] after the last one
	// of its key and queue that waits for its first lease, whatever their names and priorities. If none does, it ranks as if it were due no earlier
	// than the first one with any key that does in its queue. Those with a NotBefore and those of Suspended instances do not count.
	// The tasks of one commit follow each other in this way; commits at the same time need not see each other. Once a task was leased, it has no turn.
	// A rank delays nothing: with nothing before it the task is fetched at once.
	//
	// The call blocks up to Wait while nothing is fetchable, as FetchTurns does.
	//
	// Of a queue with MaxLeased it leases no task while as many have an unexpired lease, of whatever name and owner; parked ones
	// do not count. Fetches at once keep to it together. Hand-offs and renewals do not ask for a place. A fetch that
	// waits for one goes on when such a lease ends.
	//
	// A task with a session is fetchable only by the owner that holds the session or, if nobody does, by one that holds fewer
	// than Sessions.Max, which then holds it. Of fetches at once one gets it. A session is known by its ID throughout the
	// store. Its owner holds it until Sessions.Lease after the last FetchTasks with Sessions or RenewTasks that named the owner, or
	// until Sessions.Idle after one of its tasks was last leased to the owner, renewed, reported or completed, whatever comes first. While the
	// owner has an unexpired lease of one of its tasks it holds the session all the same. A fetch that waits for a session goes
	// on when that ends. What is past its time goes to who asks for Expired, whatever limits and sessions say.
	FetchTasks(ctx context.Context, req FetchTasksRequest) (FetchTasksResult, error)

	// ReportTasks ends or changes leases of tasks, each item for itself and atomically.
	//
	// Complete removes the task and puts Message into the inbox of its instance, if the
	// execution still runs (else it only removes it and answers the state). Retry raises Attempt, stores Failure and
	// Details, resets Deliveries and queues the task after Delay. Park ends the lease, keeps the token as completion token
	// and never delivers the task again (complete, retry and renewal then go by that token).
	// A parked task whose Deadline has passed is given to who asks for Expired all the same, and then the token is void. Park with a Limit
	// makes that the task's StartBy, and it has not begun until it is retried.
	// A task whose cancellation was asked for is queued without the Delay.
	// Release queues it after Delay and gives the delivery back. With Begun the task has begun for good and loses its StartBy.
	// Discard removes it if its execution is still not Running,
	// else releases it. Release without a TaskRef releases all tasks that its Token holds, whatever their Attempt. The Token of a
	// fetch holds all tasks that the fetch has leased.
	// Lapsed ones are not among them.
	// Poison is Complete that also leaves a copy in the dead letters. An item whose
	// token does not hold the task answers ErrLeaseLost in its place; so does a repeat of
	// an item that was stored before.
	ReportTasks(ctx context.Context, req ReportTasksRequest) (ReportTasksResult, error)

	// RenewTasks extends leases of tasks and stores heartbeat details, each item for itself.
	//
	// Each item answers the ExecutionState, whether cancellation was asked for, and the
	// lease; a lease is extended only while the execution is Running (Suspended counts as
	// Running). Precedence of answers: Missing, Terminal, ErrLeaseLost, Running. Details nil keeps the
	// stored ones. One bad token never fails the batch. With Owner it also extends the sessions that Owner holds, to SessionLease from
	// now; Items may be empty then.
	RenewTasks(ctx context.Context, req RenewTasksRequest) (RenewTasksResult, error)

	// Send puts a message into the inbox of an instance.
	//
	// An instance that never existed answers [ErrNotFound], one that has ended [ErrEnded], one
	// that is being deleted [ErrNotFound]. Suspended, Blocked and not yet started instances accept. Sending serialises with
	// closing: after success the message is in the inbox of an instance that has not closed. Beyond
	// [MaxInboxMessages] or [MaxInboxBytes] it answers [ErrInboxFull].
	Send(ctx context.Context, req SendRequest) (SendResult, error)

	// Ask leaves a question beside the inbox and blocks until it is answered, Wait has
	// passed ([ErrNoAnswer]) or the context is finished. Asks are accepted in any status. The question is
	// removed when the call returns or its time is over.
	Ask(ctx context.Context, req AskRequest) (AskResult, error)

	// FetchAsks takes up to Max open questions to instances of the given capabilities,
	// whatever their status. A taken question is not given to others for Lease. It blocks up to Wait.
	FetchAsks(ctx context.Context, req FetchAsksRequest) (FetchAsksResult, error)

	// Answer answers a question. One that is gone or was answered answers [ErrNotFound].
	Answer(ctx context.Context, req AnswerRequest) error

	// ReadHistory answers events From..To of one execution in order, as many as fit
	// MaxBytes (at least one if there is one). Ended and replaced executions are readable until deleted.
	// An unknown key or execution answers ErrNotFound.
	ReadHistory(ctx context.Context, req ReadHistoryRequest) (ReadHistoryResult, error)

	// List answers instances that match the filter, newest creation first (then by key,
	// descending), a page at a time. A page continues after Cursor, so that instances created or ended while a caller
	// pages neither repeat nor hide others.
	List(ctx context.Context, req ListRequest) (ListResult, error)

	// Count answers how many instances match the filter.
	Count(ctx context.Context, req CountRequest) (CountResult, error)

	// Stats answers figures about waiting work, for health and metrics. It may be some
	// seconds stale. With Waiting set it answers what waits and need not count anything else.
	Stats(ctx context.Context, req StatsRequest) (StatsResult, error)

	// Delete removes instances and all that hangs on their keys, children first marked.
	//
	// It first marks the instance as deleting (a new Version; fetch, send and create under
	// it refuse), then removes bottom-up until nothing with that parent link is left. A running instance
	// answers [ErrRunning] unless Force is set. It is resumable: repeating it goes on. An unknown instance answers ErrNotFound.
	Delete(ctx context.Context, req DeleteRequest) (DeleteResult, error)

	// Prune deletes up to Max instances that ended before a given age, oldest first, and
	// answers how many; children go with their parent, never alone before it. A parent of which a child still runs stays,
	// and takes no place among the Max.
	Prune(ctx context.Context, req PruneRequest) (PruneResult, error)

	// DeadLetters lists what could not be delivered or processed, puts items back where
	// they came from (redrive) or discards them. Items are taken in the order in which
	// they are named. A redriven task begins anew, with its first attempt and without a deadline. An item that cannot go back stays, and is not counted.
	DeadLetters(ctx context.Context, req DeadLettersRequest) (DeadLettersResult, error)

	// Lease acquires, renews or releases a named lease. Acquire of a lease that another
	// token holds unexpired answers [ErrLeaseLost] with the holder in the result.
	Lease(ctx context.Context, req LeaseRequest) (LeaseResult, error)

	// Record reads, writes, deletes or scans versioned records. A write or delete names the
	// record's version that it expects (0: must not exist); a mismatch answers [ErrConflict].
	Record(ctx context.Context, req RecordRequest) (RecordResult, error)

	// Close ends all blocked calls with [ErrClosed], waits for calls in progress and frees
	// what the provider holds. Later calls answer ErrClosed; closing twice is fine.
	Close() error
}
