package history

// Settings are the limits that code can see. They are frozen when an execution starts,
// so that every node and every replay judges alike.
type Settings struct {
	MaxPayload int64 // bytes of one payload
	MaxEvents  int64 // events of the history, 1,000 of them kept for the end
	Flags      int64 // bit set of scheduler behaviours; see internal/replay
	MaxBytes   int64 // sizes of the history's events together, some kept for the end; 0: no limit
}

func (s *Settings) fields(c *codec) {
	c.integer(1, &s.MaxPayload)
	c.integer(2, &s.MaxEvents)
	c.integer(3, &s.Flags)
	c.integer(4, &s.MaxBytes)
}

// Parent names the event that started a child.
type Parent struct {
	Key       [16]byte
	ID        string
	Execution int64
	EventID   int64
}

func (p *Parent) fields(c *codec) {
	c.uuid(1, &p.Key)
	c.text(2, &p.ID)
	c.integer(3, &p.Execution)
	c.integer(4, &p.EventID)
}

// ExecutionStarted opens a history. In a first execution code runs as soon as it is
// applied. In a continued one (Continued) it is followed by the messages carried over,
// and code runs from ExecutionOpened on.
type ExecutionStarted struct {
	Name        string
	CodeVersion string
	Input       []byte
	Settings    Settings
	Parent      Parent
	Continued   bool
	Seen        [][]byte // request IDs already consumed by earlier executions
	RequestID   string
	Delay       int64  // microseconds before the code begins; 0: none, which older releases can read
	Updates     []byte // hashes of the IDs of updates that earlier executions took, 16 bytes each

	// Releases before level 8 write none of these.
	Root   Root   // the topmost ancestor, if that is not the parent
	Began  int64  // of a continued execution: when the first one began, microseconds UTC; 0: not known
	Header []byte // see EncodeHeader
	Seed   []byte // of random numbers up to the ForkPoint, 32 bytes; nil: that of the key and the execution

	// Releases before level 9 do not write it.
	HasListener bool // another instance is told of the end: see provider.Listener

	// Releases before level 12 do not write it.
	Previous *Previous // how the run before has ended; nil: there is none
}

// Root names an instance that no other one started as a child.
type Root struct {
	Key [16]byte
	ID  string
}

func (r *Root) fields(c *codec) {
	c.uuid(1, &r.Key)
	c.text(2, &r.ID)
}

// Kind implements Body.
func (*ExecutionStarted) Kind() Kind { return KindExecutionStarted }

func (e *ExecutionStarted) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.CodeVersion)
	c.payload(4, &e.Input)
	c.nested(5, &e.Settings)
	c.nested(6, &e.Parent)
	c.boolean(7, &e.Continued)
	c.list(8, &e.Seen)
	c.text(9, &e.RequestID)
	c.integer(10, &e.Delay)
	c.payload(16, &e.Updates)
	c.payload(17, &e.Seed)
	c.boolean(18, &e.HasListener)
	optional(c, 11, &e.Previous)
	c.nested(headerField-2, &e.Root)
	c.integer(headerField-1, &e.Began)
	c.payload(headerField, &e.Header)
}

// ExecutionOpened lets the code of a continued execution begin. Later in a history it has no effect: it stands where code
// ran that a turn before had held, and no other message came.
type ExecutionOpened struct{}

// Kind implements Body.
func (*ExecutionOpened) Kind() Kind { return KindExecutionOpened }

func (*ExecutionOpened) fields(*codec) {}

// ActivityCompleted carries an activity's output.
type ActivityCompleted struct {
	Scheduled int64 // event ID of ActivityScheduled
	Output    []byte
	Attempt   int64
	Attempts  []Attempt // the last ones, if there was more than one
}

// Kind implements Body.
func (*ActivityCompleted) Kind() Kind { return KindActivityCompleted }

func (e *ActivityCompleted) fields(c *codec) {
	c.integer(2, &e.Scheduled)
	c.payload(3, &e.Output)
	c.integer(4, &e.Attempt)
	records(c, 5, &e.Attempts)
}

// ActivityFailed carries the failure of an activity's last attempt.
type ActivityFailed struct {
	Scheduled int64
	Failure   Failure
	Attempt   int64
	Attempts  []Attempt // the last ones, if there was more than one
}

// Kind implements Body.
func (*ActivityFailed) Kind() Kind { return KindActivityFailed }

func (e *ActivityFailed) fields(c *codec) {
	c.integer(2, &e.Scheduled)
	c.nested(3, &e.Failure)
	c.integer(4, &e.Attempt)
	records(c, 5, &e.Attempts)
}

// TimerFired says that a timer is due.
type TimerFired struct {
	Timer int64 // event ID of TimerCreated
}

// Kind implements Body.
func (*TimerFired) Kind() Kind { return KindTimerFired }

func (e *TimerFired) fields(c *codec) { c.integer(2, &e.Timer) }

// EventReceived is an external event for the mailbox Name.
type EventReceived struct {
	Name      string
	Payload   []byte
	RequestID string // of the sender; a repeat is dropped
	Header    []byte // see EncodeHeader
}

// Kind implements Body.
func (*EventReceived) Kind() Kind { return KindEventReceived }

func (e *EventReceived) fields(c *codec) {
	c.text(2, &e.Name)
	c.payload(3, &e.Payload)
	c.text(4, &e.RequestID)
	c.payload(headerField, &e.Header)
}

// ChildCompleted carries a child's output.
type ChildCompleted struct {
	Started int64 // event ID of ChildStarted
	Output  []byte
}

// Kind implements Body.
func (*ChildCompleted) Kind() Kind { return KindChildCompleted }

func (e *ChildCompleted) fields(c *codec) {
	c.integer(2, &e.Started)
	c.payload(3, &e.Output)
}

// ChildFailed says that a child failed, was cancelled or terminated, or could not start.
type ChildFailed struct {
	Started int64
	Failure Failure
}

// Kind implements Body.
func (*ChildFailed) Kind() Kind { return KindChildFailed }

func (e *ChildFailed) fields(c *codec) {
	c.integer(2, &e.Started)
	c.nested(3, &e.Failure)
}

// CancelRequested asks the execution to stop in its own way.
type CancelRequested struct {
	Reason    string
	RequestID string
	Header    []byte // see EncodeHeader
}

// Kind implements Body.
func (*CancelRequested) Kind() Kind { return KindCancelRequested }

func (e *CancelRequested) fields(c *codec) {
	c.text(2, &e.Reason)
	c.text(3, &e.RequestID)
	c.payload(headerField, &e.Header)
}

// ExecutionTerminated ends an execution from outside, without its code.
type ExecutionTerminated struct {
	Reason string
}

// Kind implements Body.
func (*ExecutionTerminated) Kind() Kind { return KindExecutionTerminated }

func (e *ExecutionTerminated) fields(c *codec) { c.text(2, &e.Reason) }
