package history

// RetryPolicy says when an activity is retried after a failed attempt. Durations are microseconds.
type RetryPolicy struct {
	MaxAttempts     int64 // 0: without limit
	InitialInterval int64
	MaxInterval     int64
	Coefficient     int64 // thousandths: 2000 doubles
	Jitter          int64 // thousandths of the interval
	NonRetryable    [][]byte
	MaxElapsed      int64 // no retry begins later than this long after the call; 0: no limit
	Listed          int64 // how many attempts are listed where the call ends; 0: none, which older releases can read
}

func (p *RetryPolicy) fields(c *codec) {
	c.integer(1, &p.MaxAttempts)
	c.integer(2, &p.InitialInterval)
	c.integer(3, &p.MaxInterval)
	c.integer(4, &p.Coefficient)
	c.integer(5, &p.Jitter)
	c.list(6, &p.NonRetryable)
	c.integer(7, &p.MaxElapsed)
	c.integer(8, &p.Listed)
}

// ActivityScheduled asks for an activity. Its encoding is also the payload of the task.
type ActivityScheduled struct {
	Name             string
	Queue            string
	Input            []byte
	Retry            *RetryPolicy // nil: tried once
	StartToClose     int64        // microseconds for one attempt; 0: no limit
	AtMostOnce       bool         // an attempt that is lost with its node ends the call
	ScheduleToStart  int64        // microseconds until its first attempt begins; 0: no limit
	ScheduleToClose  int64        // microseconds for all attempts together; 0: no limit
	HeartbeatTimeout int64        // microseconds that an attempt may go without a sign of life; 0: no limit
	Cancellation     int64        // what giving it up does: one of CancelTry, CancelWait, CancelAbandon
	Priority         int64        // 1 (first) to 5; 0: the default
	FairnessKey      string       // calls of one key take turns with those of others; "": none
	Session          string       // its node must hold this session; "": none

	// These are set for a call that began as a local activity.
	Local    int64 // its number among local calls, from 1; 0: it was not local
	Attempts int64 // that failed inside the turn
	Delay    int64 // microseconds before the task may be fetched

	Caller []byte // see EncodeCaller: only in the payload of a task, never in an event
}

// The effects of giving up an activity or a child. Numbers are part of the stored format.
const (
	CancelTry     = 0 // it is cancelled, and the call ends at once
	CancelWait    = 1 // it is cancelled, and the call ends when it does
	CancelAbandon = 2 // the call ends at once, and the activity or child continues
)

// What becomes of a child when the execution ends. Numbers are part of the stored format.
const (
	CloseCancel  = 0 // it is cancelled
	CloseAbandon = 1 // it continues
)

// Kind implements Body.
func (*ActivityScheduled) Kind() Kind { return KindActivityScheduled }

func (e *ActivityScheduled) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.Queue)
	c.payload(4, &e.Input)
	optional(c, 5, &e.Retry)
	c.integer(6, &e.StartToClose)
	c.boolean(7, &e.AtMostOnce)
	c.integer(8, &e.ScheduleToStart)
	c.integer(9, &e.ScheduleToClose)
	c.integer(10, &e.HeartbeatTimeout)
	c.integer(11, &e.Cancellation)
	c.integer(12, &e.Priority)
	c.text(13, &e.FairnessKey)
	c.text(14, &e.Session)
	c.integer(15, &e.Local)
	c.integer(16, &e.Attempts)
	c.integer(17, &e.Delay)
	c.payload(headerField, &e.Caller)
}

// ActivityCancelRequested gives up an activity.
type ActivityCancelRequested struct {
	Scheduled int64
	How       int64 // CancelTry, CancelWait or CancelAbandon, as it was scheduled
}

// Kind implements Body.
func (*ActivityCancelRequested) Kind() Kind { return KindActivityCancelRequested }

func (e *ActivityCancelRequested) fields(c *codec) {
	c.integer(2, &e.Scheduled)
	c.integer(3, &e.How)
}

// TimerCreated starts a durable timer.
type TimerCreated struct {
	Due      int64 // microseconds UTC
	Duration int64 // microseconds, as the code asked
}

// Kind implements Body.
func (*TimerCreated) Kind() Kind { return KindTimerCreated }

func (e *TimerCreated) fields(c *codec) {
	c.integer(2, &e.Due)
	c.integer(3, &e.Duration)
}

// TimerCancelled stops a timer.
type TimerCancelled struct {
	Timer int64
}

// Kind implements Body.
func (*TimerCancelled) Kind() Kind { return KindTimerCancelled }

func (e *TimerCancelled) fields(c *codec) { c.integer(2, &e.Timer) }

// ChildStarted starts a child instance.
type ChildStarted struct {
	Name        string
	CodeVersion string
	ID          string
	Key         [16]byte
	Explicit    bool // the code chose the ID
	Input       []byte

	// Releases before level 12 write none of these.
	Cancellation int64       // what giving it up does: one of CancelTry, CancelWait, CancelAbandon
	Close        int64       // CloseCancel or CloseAbandon
	TellStart    bool        // a ReplyReceived says that it has begun
	Attributes   []Attribute // with which it begins
	Header       []byte      // see EncodeHeader: it is added to that of the parent
}

// Attribute is an attribute of an instance, in the form of provider.Attribute.
type Attribute struct {
	Name   string
	Kind   int64
	Text   string
	Number int64
}

func (a *Attribute) fields(c *codec) {
	c.text(1, &a.Name)
	c.integer(2, &a.Kind)
	c.text(3, &a.Text)
	c.integer(4, &a.Number)
}

func attributesSize(list []Attribute) (size int64) {
	for i := range list {
		size += frame + int64(len(list[i].Name)+len(list[i].Text))
	}
	return size
}

// Kind implements Body.
func (*ChildStarted) Kind() Kind { return KindChildStarted }

func (e *ChildStarted) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.CodeVersion)
	c.text(4, &e.ID)
	c.uuid(5, &e.Key)
	c.boolean(6, &e.Explicit)
	c.payload(7, &e.Input)
	c.integer(8, &e.Cancellation)
	c.integer(9, &e.Close)
	c.boolean(10, &e.TellStart)
	records(c, 11, &e.Attributes)
	c.payload(headerField, &e.Header)
}

// ChildCancelRequested asks a child to stop.
type ChildCancelRequested struct {
	Started int64
	Key     [16]byte // of the child
}

// Kind implements Body.
func (*ChildCancelRequested) Kind() Kind { return KindChildCancelRequested }

func (e *ChildCancelRequested) fields(c *codec) {
	c.integer(2, &e.Started)
	c.uuid(3, &e.Key)
}

// SideEffectRecorded keeps the value of a function that is run only once.
type SideEffectRecorded struct {
	Value   []byte
	Failure *Failure
}

// Kind implements Body.
func (*SideEffectRecorded) Kind() Kind { return KindSideEffectRecorded }

func (e *SideEffectRecorded) fields(c *codec) {
	c.payload(2, &e.Value)
	optional(c, 3, &e.Failure)
}

// ExecutionCompleted ends an execution with its output.
type ExecutionCompleted struct {
	Output []byte
}

// Kind implements Body.
func (*ExecutionCompleted) Kind() Kind { return KindExecutionCompleted }

func (e *ExecutionCompleted) fields(c *codec) { c.payload(2, &e.Output) }

// ExecutionFailed ends an execution with the error that its code returned.
type ExecutionFailed struct {
	Failure Failure
}

// Kind implements Body.
func (*ExecutionFailed) Kind() Kind { return KindExecutionFailed }

func (e *ExecutionFailed) fields(c *codec) { c.nested(2, &e.Failure) }

// ExecutionCancelled ends an execution whose code returned the cancellation.
type ExecutionCancelled struct {
	Failure Failure
}

// Kind implements Body.
func (*ExecutionCancelled) Kind() Kind { return KindExecutionCancelled }

func (e *ExecutionCancelled) fields(c *codec) { c.nested(2, &e.Failure) }

// ContinuedAsNew ends an execution; the next one starts with Input.
type ContinuedAsNew struct {
	Name        string
	CodeVersion string
	Input       []byte
}

// Kind implements Body.
func (*ContinuedAsNew) Kind() Kind { return KindContinuedAsNew }

func (e *ContinuedAsNew) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.CodeVersion)
	c.payload(4, &e.Input)
}

// pointerTo is a record whose pointer type is P.
type pointerTo[T any] interface {
	*T
	record
}

// optional is a nested record that may be absent; an absent one is nil. An empty record
// is written with length zero, so that it differs from an absent one.
func optional[T any, P pointerTo[T]](c *codec, number int, p *P) {
	if c.writing {
		if *p != nil {
			body := appendRecord(nil, *p)
			c.putHeader(number, len(body))
			c.out = append(c.out, body...)
		}
		return
	}
	if c.values[number].set {
		*p = new(T)
		c.nested(number, *p)
	}
}
