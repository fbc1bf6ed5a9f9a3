package bind

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Info is activity.Info, which explains the fields, without what GetInfo decodes from Caller and Retry of the Attempt. Its last
// times are those of the storage: attempts are many, and few ask.
type Info struct {
	Activity         string
	Queue            string
	InstanceID       string
	Execution        int64
	Local            bool
	EventID          int64
	Attempt          int
	Deliveries       int
	Scheduled        time.Time
	Deadline         time.Time
	Session          string
	HeartbeatTimeout time.Duration
	CallDeadline     provider.Time // 0: none
	Started          provider.Time
	Node             string
}

// MaxDetails is the limit on heartbeat details, in bytes: leases are renewed in batches, and the details of all
// their attempts go along.
const MaxDetails = 256 << 10

// Attempt connects the context of a running attempt with the node that runs it.
type Attempt struct {
	Info      Info
	Key       string               // the idempotency key
	Logger    *slog.Logger         // of the node, nil is slog.Default; Named adds the attempt
	Caller    []byte               // see history.Caller
	Trace     string               // context of its span; "": none
	Retry     *history.RetryPolicy // nil: tried once
	Details   []byte               // last heartbeat details of an earlier attempt
	Heartbeat func(details []byte) // takes over new details; nil: a sign of life without any
	Later     Later                // ends it after its function has returned without a result

	hooks  hooks
	name   sync.Once
	logger *slog.Logger // it names the attempt; made on first use, as most activities do not log
}

// Later ends an attempt that is pending.
type Later interface {
	Token() string
	// End ends the attempt with an encoded output, or with an error that is not nil. It returns why it did not.
	End(output []byte, err error) error
	// Cause returns why the work should stop: the cause of the attempt's context, or why the attempt has ended.
	Cause() error
}

// Named returns a logger that names the attempt, to any number of goroutines.
func (a *Attempt) Named() *slog.Logger {
	a.name.Do(func() {
		of := a.Logger
		if of == nil {
			of = slog.Default()
		}
		a.logger = of.With("activity", a.Info.Activity, "instance", a.Info.InstanceID, "execution", a.Info.Execution,
			"event", a.Info.EventID, "attempt", a.Info.Attempt)
		origin := history.DecodeCaller(a.Caller)
		if origin.Name != "" {
			a.logger = a.logger.With("orchestration", origin.Name)
		}
		context := a.Trace
		if context == "" { // the node makes no spans, and another one did
			context = history.HeaderValue(origin.Header, history.TraceKey)
		}
		if trace, span := history.TraceIDs(context); trace != "" {
			a.logger = a.logger.With("trace_id", trace, "span_id", span)
		}
	})
	return a.logger
}

type attemptKey struct{}

// WithAttempt returns a context that the functions of package activity accept.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// AttemptOf returns the attempt of a context; nil for a context that no activity was given.
func AttemptOf(ctx context.Context) *Attempt {
	if ctx == nil {
		return nil
	}
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// hooks are the functions given to OnInterrupt in one attempt.
type hooks struct {
	mu  sync.Mutex
	all []*hook
}

type hook struct {
	fn   func(attempt int)
	busy atomic.Bool // the last call has not returned
}

// OnInterrupt registers a function for Interrupt. stop removes it.
func (a *Attempt) OnInterrupt(fn func(attempt int)) (stop func()) {
	h := &hook{fn: fn}
	a.hooks.mu.Lock()
	a.hooks.all = append(a.hooks.all, h)
	a.hooks.mu.Unlock()
	return func() {
		a.hooks.mu.Lock()
		defer a.hooks.mu.Unlock()
		if i := slices.Index(a.hooks.all, h); i >= 0 {
			a.hooks.all = slices.Delete(a.hooks.all, i, i+1)
		}
	}
}

// Interrupt calls the functions that OnInterrupt was given, except those still in their last call. The function
// start runs a call on another goroutine.
func (a *Attempt) Interrupt(attempt int, start func(call func())) {
	a.hooks.mu.Lock()
	all := slices.Clone(a.hooks.all)
	a.hooks.mu.Unlock()
	for _, h := range all {
		if h.busy.CompareAndSwap(false, true) {
			start(func() {
				defer h.busy.Store(false)
				h.fn(attempt)
			})
		}
	}
}
