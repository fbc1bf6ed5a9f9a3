package provider

import "context"

// Opener is implemented by providers that open an execution from the prefix of a history: to reset an instance to a point
// of its history, or to fork another instance from there.
type Opener interface {
	// Reset closes the current execution of an instance and opens the next one from Prefix, in one transaction.
	//
	// The old execution ends as with SteerReset, and Event is appended to it first. The refusals are those of
	// SteerReset with Expected. A repeat under the stored Version succeeds. Request IDs are remembered with those of
	// Steer, so a repeated one changes nothing.
	//
	// Children are what the new execution still waits for, by their start events. The parent link of such a child gets the
	// new execution, and the child gets a new Version, so that its turn in flight fails with ErrConflict. Messages in
	// the inbox that concern such an event of the old execution get the new execution and keep their place. The call returns
	// [ErrConflict] if there is neither: no such message waits, and no running child with the key has this event as
	// its parent link. The execution in that link does not matter. All other children stay as they are.
	//
	// Notices are delivered as a commit delivers its Sends. A refusal goes into the inbox of the instance.
	Reset(ctx context.Context, req ResetRequest) (SteerResult, error)

	// Fork stores a new instance whose execution 1 opens from Prefix, in one transaction.
	//
	// IDs, keys, RequestID, Parent and Listener count as in Create. A refused Fork changes nothing. The instance has no
	// start message. It is ready for a turn at once, even with an empty inbox.
	Fork(ctx context.Context, req ForkRequest) (CreateResult, error)
}

// Prefix is all that an execution opens with: the beginning of a history, and what is pending at its end. It has the limits
// of a commit: what exceeds them is refused with [ErrTooLarge] before anything is stored.
//
// Tasks are stored as by a commit, with their first attempt, and so are Timers and Values. CustomStatus and Attributes
// replace those of the instance: what the prefix does not have is removed. Values that it does not name stay. A nil
// Value removes one.
//
// Messages go into the inbox in their order, before all messages that wait there. Such a message is visible since its At.
// If that is later than now, it is visible since now. If an older message waits, it is visible since one microsecond
// before that. The limits of Send do not apply. Of a timer and a message that are visible at the same moment, the timer comes
// first.
//
// The instance remembers exactly Seen afterwards, the newest last, of the requests with Messages that Create has delivered. So a
// request whose messages the prefix does not have is delivered again if it is repeated.
type Prefix struct {
	Events       [][]byte // the history; at least the start event
	Tasks        []NewTask
	Timers       []Timer
	Messages     []CarriedMessage
	CustomStatus []byte // empty: none
	Attributes   []Attribute
	Values       []KeyValue
	Seen         []string // at most MaxRequests
}

// CarriedMessage is a message that an earlier execution has received.
type CarriedMessage struct {
	Message NewMessage // without Delay
	At      Time       // when it was visible; no earlier than that of the message before it
}

// ChildLink names a child that the new execution waits for.
type ChildLink struct {
	Key     UUID
	EventID int64 // that started it, in the old execution as in the prefix
}

// ResetRequest names an instance by Key, or by ID when Key is zero.
type ResetRequest struct {
	ID          string
	Key         UUID
	Commit      UUID   // the new Version
	Expected    UUID   // the Version that the caller saw; required
	RequestID   string // unique to the caller's act on this instance, "" for none
	Event       []byte // appended to the history of the old execution; nil for none
	Name        string // of the orchestration of the new execution
	CodeVersion string
	EngineLevel int64 // no lower than before while messages wait
	Prefix      Prefix
	Children    []ChildLink
	Notices     []OutMessage
}

// ForkRequest asks for a new instance that opens from a prefix.
type ForkRequest struct {
	Create CreateRequest // Policy IDReject or IDReplaceEnded; no Attributes, Message, Messages and First
	Prefix Prefix
}

// ChildVersion returns the Version that a child gets whose parent link moves. It is for providers.
func (r ResetRequest) ChildVersion(c ChildLink) UUID {
	return TaskToken(r.Commit, TaskRef{Key: c.Key, EventID: c.EventID})
}
