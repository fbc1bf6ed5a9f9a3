package provider

import "context"

// Provider is the core that every storage for durable executions has. It runs orchestrations and activities by
// itself. See the package comment for the rules that every method obeys.
//
// All else is an optional interface, which [As] finds, or a field of a request that the provider may ignore unless it
// declares it in [Features].
type Provider interface {
	// Create stores a new instance together with its start message, atomically.
	//
	// The storage decides the ID conflict policy. If the ID is in use:
	//   - Reject returns [ErrExists], an [*ExistsError] that names the instance.
	//   - UseExisting returns the existing instance, with Created false.
	//   - ReplaceEnded creates a new key if the old instance has ended, and otherwise returns ErrExists.
	//
	// The replaced instance stays readable by its key. An instance that is being deleted counts as existing.
	// Only Create, and the Starts of a commit, insert instances. A Key in use is refused with an [*ExistsError] that
	// names its holder, under every policy. An ID in use decides first. After that, a Parent that is gone or
	// being deleted is refused with [ErrNotFound]. A Suspended instance has not ended.
	//
	// The Key is one of [NewKey] for the ID. A provider stores any Key, or refuses one of another slot than its ID's with
	// [ErrInvalid].
	//
	// A Create that repeats the RequestID of the instance under that ID returns the instance with Created true
	// and changes nothing. So a caller may retry after an unknown outcome.
	//
	// First is the first turn of the instance, computed before the instance exists. If the call inserts the
	// instance, it also stores that turn, all or nothing, as CommitTurn would after a fetch of the start message.
	// The start message then never enters the inbox. Begun reports that the stored Version is First.Commit.
	// An instance that the call does not insert stays as it is. Without [Features].FirstTurns, a provider may ignore
	// First: then Begun is false and the start message waits in the inbox.
	//
	// Messages are delivered in the same transaction, in order and after the start message. A turn in First has
	// consumed them, too. With UseExisting they go to the existing instance, under the limits of Send. If it has
	// ended, the call returns [ErrEnded]. A refused call is not remembered. A call that repeats the RequestID of an earlier one delivers nothing and
	// returns the instance, even one that has ended since. An instance remembers at least the last [MaxRequests]
	// requests with which it got Messages. Without a RequestID, each call delivers.
	//
	// A Listener gets its Message when the instance ends, in the same transaction: by a commit, by Terminate, or by a
	// Delete before its end. Continue-as-new is no end. After a Reset, the next end delivers the message again. It is
	// dropped if the listener accepts no messages, or if Message.Execution is neither 0 nor the current execution of
	// the listener. A listener is no parent: deleting either leaves the other. An existing instance keeps its own.
	Create(ctx context.Context, req CreateRequest) (CreateResult, error)

	// Get returns one instance, by ID (the current key under it) or by Key.
	//
	// It returns [ErrNotFound] for an unknown instance. With WaitEnded it blocks until the instance has ended,
	// until the instance is Blocked and WaitBlocked is set, or until Wait has passed. It then returns what is
	// stored. A commit in the same process wakes the call at once, without a poll. With an ID it waits for the
	// instance that it finds first, not for a successor under the ID.
	//
	// With WaitValue it also returns when the key-value that Value names is stored and differs from OldValue. Such a
	// call looks only when that key-value may have changed, or the instance has ended, is Blocked or is gone.
	// An instance that is removed during a wait of any kind ends it with [ErrNotFound].
	//
	// A Mark is an opaque hash of what the request asks for, the same in all processes. Results that differ only in
	// Now, TaskInfo.LeaseUntil or TaskInfo.SessionOwner have the same Mark; other results differ in it. With Mark, the call blocks until
	// the result has another Mark, or until Wait has passed. A change of any kind ends the wait within a second,
	// whatever call or process made it. The call takes at least [MarkPace], or its Wait if that is shorter, so that
	// a caller that repeats it reads no more often.
	Get(ctx context.Context, req GetRequest) (GetResult, error)

	// Steer changes an instance from outside: suspend, resume, terminate, unblock, reset, move, drop.
	//
	// It is not fenced: it applies to whatever is stored, atomically. It writes a new Version, so that a turn in
	// flight fails with ErrConflict. If the stored Version is already req.Commit, the call succeeds again and
	// changes nothing. For an ended instance, every action except Reset returns [ErrEnded]. For one that is unknown or
	// being deleted, every action returns [ErrNotFound].
	//
	// An act with a RequestID happens once. An instance remembers its last [MaxActs] request IDs, over all executions
	// and after its end. An act under one of them changes nothing and succeeds, whatever it asks for. A refused act is
	// not remembered.
	//
	// Reset and Move can be fenced, because their caller has read the history first. With Expected, they return
	// [ErrConflict] if another Version is stored. A repeat under the stored Version still succeeds.
	//
	//   - Suspend keeps turns from being fetched and queued tasks from being started. Resume ends that.
	//   - Unblock clears the Blocked flag and sets Deliveries to 0. It ends the delay of a release, too.
	//   - Terminate appends the caller's opaque Event at length+1 and stores Result. It removes all tasks and
	//     timers of the execution; the next renewal of a leased task returns Terminal. It moves the rest of the
	//     inbox to the dead letters. It delivers ParentNotice to the inbox of the parent if the execution that
	//     started the instance still runs. Suspended counts as running. It delivers ChildNotice to every running child with close policy Cancel,
	//     Suspended ones included. The execution that started the child does not matter. Grandchildren get none. It
	//     delivers Notices as a commit delivers its Sends; a refusal goes to the dead letters. Notices come first, then
	//     the message of the Listener, ParentNotice and ChildNotice.
	//   - Reset closes the current execution with status Reset, or keeps its ended status. It opens the next one,
	//     Running, with Events as its history. Tasks and timers of the old one are removed; inbox messages stay.
	//     The next execution is ready for a turn at once, even with an empty inbox. A replaced instance cannot be
	//     reset: the call returns [ErrExists], or [ErrEnded] if no instance has the ID any more. This comes before ErrConflict.
	//   - Move gives the current execution another CodeVersion. It ends the turn lease and the stickiness, so that a
	//     node with that version fetches the instance at once. Everything else stays, Blocked and Suspended included. With Name it
	//     also gives the name back to an instance that has lost it. An instance of another name is refused with
	//     [ErrInvalid].
	//   - Drop moves the message MessageID from the inbox to the dead letters, under Reason. If it does not wait there,
	//     the call returns [ErrNotFound]. An instance that was ready for a turn stays ready, even with an empty inbox.
	//     Blocked and Suspended stay.
	//
	// Terminate and Reset set Deliveries to 0, clear Blocked and end the turn lease. Reset also ends stickiness and
	// the delay of a release. An instance that ends has ReadyAt 0. Reset sets ReadyAt to its own moment, or keeps an
	// earlier one. So a second Reset delays nothing. It even keeps the moment of a timer that it removes.
	Steer(ctx context.Context, req SteerRequest) (SteerResult, error)

	// FetchTurns leases up to Max instances that have visible messages, with those messages.
	//
	// An instance is fetchable if all of these hold:
	//   - Its status is Running.
	//   - It has a visible message, or its ReadyAt has come.
	//   - No unexpired turn lease holds it.
	//   - Neither Blocked nor the stickiness of another owner holds it back.
	//   - Its (name, version) is among Capabilities.
	//   - Its engine level is at most EngineLevel.
	//
	// Other instances are left alone and their deliveries are not counted. Instances come in order of ReadyAt.
	// An instance that was held back, by a lease, a delay or Blocked, may count from the moment it was free. After its
	// next commit it counts from its ReadyAt again.
	// Messages come in order (VisibleAt, ID), at most MaxMessages and MaxBytes per instance, but at least one.
	// More reports that further messages are visible. Each lease raises Deliveries durably before the call
	// returns, and a commit sets it to 0. No history is returned.
	//
	// The call blocks up to Wait while nothing is fetchable and returns as soon as something is. When Wait has
	// passed, it returns an empty result, not an error.
	//
	// With Ahead, messages that become visible within it count as visible, unless Blocked or a delay holds the
	// instance back for longer. The caller then holds the turn until the moment at which it is due. A claim ahead
	// is a lease without any visible message. It ends when a message arrives that is visible before all others,
	// and its delivery is not counted. A lease is a claim ahead while ReadyAt of its instance lies ahead, however it
	// was taken. A timer of a commit ends it, too, if it is a claim ahead after what the commit consumes. A far timer
	// of a commit makes a claim ahead, which a message of the same commit ends. So does a nearer timer after it. Next
	// removes the timers first, so that its Message ends no claim that they made. A provider may return some messages
	// only once they are visible. Without [Features].Ahead it may do so with all of them.
	FetchTurns(ctx context.Context, req FetchTurnsRequest) (FetchTurnsResult, error)

	// CommitTurn applies one turn of one instance: all of it, or nothing.
	//
	// If the stored Version is req.Commit, the turn was stored before and the call succeeds again.
	//
	// A refused commit changes nothing. The first reason that applies is returned:
	//   - [ErrConflict]: the key, execution, Version or history length is not the stored one, a consumed message
	//     is gone, or the instance is Suspended, ended or marked for deletion. With Ahead, a Lease that no longer
	//     holds the instance is a conflict, too: something came first.
	//   - [ErrInboxNotEmpty]: a closing commit does not name all waiting messages in Consumed. Timers of this
	//     execution do not count. A commit is closing if its Status is not Running; Next does not close. With
	//     CloseInbox, the waiting messages go to the dead letters instead.
	//   - [ErrLeaseLost]: the task of a Completes item is not leased under the item's token.
	//   - [ErrInvalid]: a new task has the event ID of a stored one that the commit does not complete, or a new timer
	//     that of a stored one that it does not consume. A closing commit is refused, too.
	//
	// The order within the commit is: fence, completes, consumed, events, tasks, timers, sends, starts, status.
	// New tasks come before CancelTasks, and new timers before CancelTimers.
	// The commit resets Deliveries, clears Blocked, and ends the turn lease if Lease names it. It ends the delay of a
	// release. If it ends or continues the execution, it also removes all tasks and timers of that execution. A closing
	// commit ends any turn lease.
	//
	// Sends and Starts are recorded with the commit. They are delivered at least once, in order per (sender,
	// target), and deduplicated. A refusal (ID or Key in use, target gone or ended) comes back as the message that the
	// caller gave for it, never as an error of this call. A start that is not refused brings the sender its Accepted.
	// If the sender ends in this commit, the refusal goes to
	// the dead letters. The dead letters of a close come in order (VisibleAt, ID), refusals included. Their Reason is
	// CloseInbox if that is set. Without CloseInbox, and for those of Terminate, it is a text of the provider that is
	// not empty.
	//
	// ReadyAt of the result covers the messages that are left in the inbox. No waiting call wakes before the
	// commit is durable. Commits of different instances never fail each other.
	CommitTurn(ctx context.Context, req CommitTurnRequest) (CommitTurnResult, error)

	// ReleaseTurns ends turn leases without a commit. Its items are independent of each other.
	//
	//   - ReleaseClean lowers Deliveries again. The instance is fetchable after Delay.
	//   - ReleaseFailed sets or updates the Blocked flag: count, reason, message, and the retry time after Delay.
	//     Hold blocks until Unblock.
	//   - ReleaseToken ends all leases that its Token holds, and lowers their Deliveries. So a caller can release
	//     the leases of a fetch whose result it never got. Expired leases are not included. Their instances are fetchable
	//     after Delay. A token that holds no lease is no error.
	//   - ReleaseUnpin ends only the stickiness of its instance, if Owner has it. Otherwise it changes nothing, and its
	//     error is nil, too.
	//
	// An item whose token no longer holds the lease gets the error ErrLeaseLost. Releasing twice changes nothing.
	// The Version does not change. A release of a lease also ends stickiness. An expired lease can be released until
	// it is ended or the instance is leased again.
	ReleaseTurns(ctx context.Context, req ReleaseTurnsRequest) (ReleaseTurnsResult, error)

	// FetchTasks leases up to Max activity tasks of the named queues and activity names.
	//
	// The lease token of each task is [TaskToken] of the request's Token and the task. The request's Token is
	// itself the lease token of no task.
	//
	// A task is fetchable if it is queued or its lease has expired, its NotBefore has come, and its instance is
	// not Suspended. A task that is past its time is fetchable only with Expired. A task is past its time when its
	// Deadline has passed, or when its StartBy has passed and it has not begun. Its NotBefore then no longer matters.
	//
	// A task has begun once it is leased for work, before it is past its time. It has not begun if that lease is
	// released without Begun. An expired lease leaves it begun, and so does Retry: StartBy limits the first attempt
	// only. A task that was handed off has begun, unless it is released without Begun. One that was parked without a
	// Limit has begun.
	//
	// Each item has the ExecutionState of the execution that wants the result, the Attempt, the Deliveries (raised
	// by this lease), the last heartbeat details and the last failure. Tasks of an execution are normally removed
	// when it ends. One that is left is returned with its state, not leased for work.
	//
	// Tasks past their time come first, ordered by that time. The others come by rank, equal ranks by ScheduledAt, and
	// tasks scheduled at one moment by event ID. Rank and ScheduledAt are returned, so that tasks of several fetches can be
	// merged.
	// The rank is the moment from which the task may be fetched. It is [PriorityStep] earlier for each step of
	// Priority above the default, and later for each step below. So a task that has waited long enough goes before
	// any new one. Suspend and Resume leave a task its rank. An expired lease may move the rank to its expiry.
	//
	// Fairness keys take turns. A new task with a FairnessKey and no NotBefore ranks as if it were due [FairnessStep]
	// after the last task of its key and queue that waits for its first lease. The names and priorities of these
	// tasks do not matter. Without such a task, it is due no earlier than the first task in its queue, with any
	// FairnessKey, that waits for its first lease. Tasks without a FairnessKey, tasks with a NotBefore and tasks of
	// Suspended instances do not count. The tasks of one commit follow each other in the same way. Concurrent commits need not see each other's tasks.
	// A task that was leased once takes no more turns. A rank delays nothing: a task with nothing before it is
	// fetched at once.
	//
	// The call blocks up to Wait while nothing is fetchable, as FetchTurns does.
	//
	// MaxLeased limits the unexpired leases of a queue, of all names and owners together. At the limit, no further
	// task of the queue is leased. Parked tasks do not count. Concurrent fetches share the limit. Hand-offs and
	// renewals are not limited. A fetch at the limit continues when one of the leases ends.
	//
	// A task with a session is fetchable only by the owner that holds the session. If no owner holds it, an owner
	// with fewer than Sessions.Max sessions can fetch the task, and then holds the session. Only one of several
	// concurrent fetches gets the session. Its ID names a session throughout the store. A session ends
	// Sessions.Lease after the last FetchTasks with Sessions, or RenewTasks, that named its owner. It also ends
	// Sessions.Idle after one of its tasks was last leased to the owner, renewed, reported or completed. In both
	// cases the owner keeps it while it has an unexpired lease of one of its tasks. It also ends with the instance
	// whose task the owner took it with, when that ends in any way or is removed. If other instances have tasks in
	// the session then, it passes to one of these instead. It no longer ends with an instance once the owner has taken
	// tasks of several instances in it. Continue-as-new and Reset end no session. A commit ends the sessions of
	// EndSessions, whoever holds them: each lasts only as long as its owner has an unexpired lease of one of its tasks.
	// A session that has ended is held by nobody until a fetch takes it. A late renewal, a hand-off or a task past its
	// time does not bring it back to its last owner.
	// A fetch that waits for a session, or for a place for one, continues when the session ends. A task past its time
	// goes to any fetch with Expired, regardless of limits and sessions. Such a task counts towards MaxLeased like any
	// other, also for the tasks of the same fetch.
	FetchTasks(ctx context.Context, req FetchTasksRequest) (FetchTasksResult, error)

	// ReportTasks ends or changes leases of tasks. Each item is atomic and independent of the others.
	//
	//   - Complete removes the task and puts Message into the inbox of its instance, if the execution still runs.
	//     Otherwise it only removes the task and returns the state.
	//   - Retry raises Attempt, stores Failure and Details, resets Deliveries and queues the task after Delay.
	//   - Park ends the lease and never delivers the task again. It keeps the token as completion token, for a later
	//     completion, retry or renewal. A parked task whose Deadline has passed still goes to a fetch with Expired,
	//     which voids the token. Limit becomes the StartBy of the parked task, and the task has then not begun until
	//     it is retried. Without Limit the task keeps its StartBy.
	//   - Release queues the task after Delay and lowers Deliveries again. With Begun, the task has begun for good and
	//     loses its StartBy. Then a task that was leased past its StartBy is in time again.
	//   - ReleaseAll releases all tasks that its Token holds, whatever their Attempt. The Token of a fetch holds all
	//     tasks that the fetch has leased. Tasks whose lease has expired are not included.
	//   - Discard removes the task if its execution is still not Running, and otherwise releases it.
	//   - Poison is Complete that also leaves a copy in the dead letters.
	//
	// Details replace the stored heartbeat details of each task that the item concerns, also with ReleaseAll. Nil keeps
	// them. Only Retry changes the failure. Release, ReleaseAll, Park and Discard leave a parked task alone. Its item gets
	// ErrLeaseLost, except that of ReleaseAll.
	//
	// A task whose cancellation was requested is queued without the Delay. An item whose token does not hold the
	// task gets the error ErrLeaseLost. So does a repeat of an item that was stored before. A token holds its task until
	// the task is leased again, also after its lease has expired.
	ReportTasks(ctx context.Context, req ReportTasksRequest) (ReportTasksResult, error)

	// RenewTasks extends leases of tasks and stores heartbeat details. Its items are independent of each other.
	//
	// Each item returns the ExecutionState, whether cancellation was requested, and the lease. A lease is extended
	// only while the execution is Running; Suspended counts as Running. Missing comes before Terminal, Terminal
	// before ErrLeaseLost, and ErrLeaseLost before Running. Nil Details keep the stored ones. One bad token never
	// fails the batch. With Owner, the call also extends the sessions that Owner holds, to SessionLease from now.
	// Items may then be empty.
	RenewTasks(ctx context.Context, req RenewTasksRequest) (RenewTasksResult, error)

	// Send puts a message into the inbox of an instance.
	//
	// It returns [ErrNotFound] for an instance that never existed or is being deleted, and [ErrEnded] for one that
	// has ended. Suspended, Blocked and not yet started instances accept messages. Sending is serialized with
	// closing: after success, the message is in the inbox of an instance that has not closed. Beyond
	// [MaxInboxMessages] or [MaxInboxBytes] it returns [ErrInboxFull].
	Send(ctx context.Context, req SendRequest) (SendResult, error)

	// ReadHistory returns events From to To of one execution in order, as many as fit MaxBytes, but at least one
	// if there is one. Ended and replaced executions are readable until deleted. It returns ErrNotFound for an
	// unknown key or execution.
	ReadHistory(ctx context.Context, req ReadHistoryRequest) (ReadHistoryResult, error)

	// Close ends all blocked calls with [ErrClosed], waits for calls in progress and frees what the provider holds.
	// A call in progress succeeds, is refused as always, or returns ErrClosed and has changed nothing.
	// Later calls return ErrClosed. Closing twice is fine.
	Close() error
}
