package task

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Attempt is one run of an activity on this node.
type Attempt struct {
	manage.Attempt

	Call       *history.ActivityScheduled
	instanceID string
	Number     int64 // the attempt, from 1
	before     int64 // of these: inside turns, not counted by the task
	Deliveries int64
	suspect    bool // it runs alone
	scheduled  provider.Time
	deadline   provider.Time   // of the call; 0: none
	expires    time.Time       // when the start-to-close timeout expires; zero: never
	details    []byte          // heartbeat details of an earlier attempt
	Caller     []byte          // see history.Caller
	Of         *history.Caller // the same; nil: see Worker.starts
	completion provider.Completion

	Cause     func() error  // returns why the context of the user's function has ended, if it has
	lifecycle lifecycle     // decides what ends it
	Done      chan struct{} // closed when the attempt has ended, by its code or its completer
	places    flow.Places   // in pools
	Watched   leak.Code
	later     later
	user      *bind.Attempt // for package activity

	started      time.Time    // for the Observer and figures; zero: there are none, or it has not begun here
	stop         atomic.Int64 // when it was asked to stop, Unix nanoseconds; 0: it was not
	span         observe.Span
	previousSpan string // context of the span of the attempt before; "": none, or not known

	began        provider.Time     // by the storage's clock
	pastAttempts []history.Attempt // the attempts before this one
	lastFailure  history.Failure   // of the attempt before this one
}

// Result is the outcome of an attempt on its way to the execution that waits for it.
type Result struct {
	Attempt *Attempt
	Body    history.Body
	details []byte
	ended   *Ended // nil: nobody observes
	tally   Tally

	ArrivedAt time.Time                  // when the execution got it
	Timeout   atomic.Pointer[time.Timer] // of its wait for the execution
}

// HandedOff makes the attempt of a task that the commit of a turn leases to its own node.
func HandedOff(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, scheduled provider.Time, lease time.Duration) *Attempt {
	return &Attempt{
		Attempt: manage.Attempt{Ref: ref, Token: storage.NewToken(), Lease: manage.NewLease(lease)},
		Call:    call, instanceID: instanceID, Number: 1 + call.Attempts, before: call.Attempts, Deliveries: 1,
		scheduled: scheduled, deadline: deadline(scheduled, engine.Span(call.ScheduleToClose)),
	}
}

// stored returns the attempt's number as its task counts.
func (a *Attempt) stored() int64 { return a.Number - a.before }

// Ref returns the reference of a task.
func Ref(key provider.UUID, execution, event int64) provider.TaskRef {
	return provider.TaskRef{Key: key, Execution: execution, EventID: event}
}

// deadline returns 0 if there is no limit.
func deadline(from provider.Time, limit time.Duration) provider.Time {
	if limit == 0 {
		return 0
	}
	return from.Add(limit)
}

// LeakEntry returns what the watchdog shows of an attempt.
func LeakEntry(a *Attempt, cause error) leak.Entry {
	return leak.Entry{Key: a.Ref.Key, Interrupt: a.user.Interrupt, Work: leak.Work{
		Kind: leak.Activity, Name: a.Call.Name, InstanceID: a.instanceID, Execution: a.Ref.Execution,
		Attempt: int(a.Number), Cause: cause.Error(),
	}}
}

func idempotencyKey(a *Attempt) string {
	id := strconv.FormatInt(a.Ref.EventID, 10)
	if a.Call.Local != 0 {
		id = localIdentity(a.Call)
	}
	return a.Ref.Key.String() + "/" + strconv.FormatInt(a.Ref.Execution, 10) + "/" + id
}

// localIdentity distinguishes a call from all others of its execution. The call has no event yet, and if its turn is repeated, another call
// may get the same number.
func localIdentity(call *history.ActivityScheduled) string {
	sum := sha256.Sum256(append([]byte(call.Name+"\x00"), call.Input...))
	return "local-" + strconv.FormatInt(call.Local, 10) + "-" + hex.EncodeToString(sum[:8])
}

func completionEntry(a *Attempt) leak.Entry {
	what := LeakEntry(a, fmt.Errorf("its transaction could wait for %v", functionTimeout))
	what.Kind, what.Interrupt = leak.Completion, nil
	return what
}
