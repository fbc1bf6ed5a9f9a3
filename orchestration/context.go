package orchestration

import (
	"log/slog"
	"math/rand/v2" //nolint:depguard // seeded by the execution: the same on every replay
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// None is the input or output of an orchestration or activity that has none.
type None = struct{}

// Context is an orchestration's view of the engine and a cancellation scope. It is deliberately no context.Context: functions
// that take one belong into activities.
type Context struct{ handle }

type handle = bind.Context

// in returns the Context of a scope that code has made with c.
func (c *Context) in(s *replay.Scope) *Context { return &Context{bind.InScope(&c.handle, s)} }

// Info identifies an execution of an instance, and says how far it is. All of it follows from the history, so it is the same on
// a replay.
type Info struct {
	ID            string // of the instance
	Key           string // never reused, even if the ID is
	Execution     int64  // from 1; grows with continue-as-new
	Orchestration string
	CodeVersion   string // that the execution started with: see [Version]; "": none
	ParentID      string // of the instance that started this one as a child; "" for none
	ParentKey     string
	// RootID and RootKey are of the topmost ancestor, or of this instance if it has no parent. For the child of a child that
	// was started while nodes of a release before level 8 could use the store, they are of the parent.
	RootID  string
	RootKey string
	// Started is when this execution was started, FirstStarted when the first execution of the instance was. FirstStarted
	// is zero if a node of a release before level 8 continued the instance as new.
	Started      time.Time
	FirstStarted time.Time
	// Scheduled says which schedule has started the instance, and for which due time. It is zero for all others, for children too.
	Scheduled Scheduled
	// Previous says how the run of the schedule has ended that was created last before this one, of those that had ended when this one began. An
	// execution that continues as new passes it on. It is nil for the first run, for all other instances, and on stores that allow no level 12 yet.
	Previous *Previous
	// HistoryLength and HistoryBytes measure the history up to this point of the code, in events and in bytes. They grow while
	// the code runs. The limits are 50,000 events and 50 MiB.
	HistoryLength int64
	HistoryBytes  int64
	// ContinueAsNewSuggested is true from 4,096 events or 4 MiB on: see ContinueAsNew. Longer histories work, but replays get
	// slow.
	ContinueAsNewSuggested bool
	// NewerVersion says that a node which runs the instance has a newer version of the orchestration: see [Version]. It becomes true
	// with a message that the code is given, and stays so for the rest of the execution, on every node. Code that waits for long
	// may then continue as new. On stores that allow no level 8 yet it stays false.
	NewerVersion bool
}

// Scheduled names the schedule that has started an instance; see client.CreateSchedule.
type Scheduled struct {
	ID  string    // of the schedule; "": none
	Due time.Time // the due time as the specification names it, without the jitter, or the time of a trigger
}

// Info returns what is known of the running execution. A loop may ask when to continue as new:
//
//	if ctx.Info().ContinueAsNewSuggested {
//		return out, orchestration.ContinueAsNew(ctx, in)
//	}
func (c *Context) Info() Info {
	scope := c.engine()
	i, f := scope.Info(), scope.Facts()
	info := Info{
		ID: i.ID, Key: i.Key.String(), Execution: i.Execution,
		Orchestration: i.Name, CodeVersion: i.CodeVersion, ParentID: i.Parent.ID,
		RootID: f.Root.ID, RootKey: provider.UUID(f.Root.Key).String(), Started: time.UnixMicro(f.Started).UTC(),
		NewerVersion:  i.Newer,
		HistoryLength: f.Length, HistoryBytes: f.Size, ContinueAsNewSuggested: f.Suggested,
	}
	info.Scheduled.ID, info.Scheduled.Due, _ = reserved.Run(i.ID, f.Request)
	info.Previous = previousOf(scope, f.Previous)
	if f.Began != 0 {
		info.FirstStarted = time.UnixMicro(f.Began).UTC()
	}
	if key := provider.UUID(i.Parent.Key); !key.IsZero() {
		info.ParentKey = key.String()
	}
	return info
}

// Now returns the time of the event that the code is handling, in UTC. It stands still while the code runs, and is the same on
// replay.
func (c *Context) Now() time.Time { return time.UnixMicro(c.engine().Now()).UTC() }

// NewUUID returns a random UUID that is the same on replay.
func (c *Context) NewUUID() uuid.UUID {
	var id uuid.UUID
	r := c.engine().Rand()
	for i := 0; i < len(id); i += 8 {
		v := r.Uint64()
		for j := range 8 {
			id[i+j] = byte(v >> (8 * j))
		}
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Rand returns a source of random numbers that are the same on replay. They are predictable: do not make secrets of them.
func (c *Context) Rand() *rand.Rand { return c.engine().Rand() }

// Logger returns a logger that names the execution and writes nothing on replay.
func (c *Context) Logger() *slog.Logger { return c.engine().Logger() }

// Err returns nil until the scope is cancelled or has timed out, then an error that is ErrCancelled or ErrTimeout.
func (c *Context) Err() error { return c.engine().Err() }

// WithCancel returns a child scope and a function that cancels it. Its activities, timers and children are then
// cancelled, and calls that wait in it return ErrCancelled.
func (c *Context) WithCancel() (child *Context, cancel func()) {
	scope, cancel := c.engine().WithCancel()
	return c.in(scope), cancel
}

// WithTimeout returns a child scope that a durable timer cancels after d with ErrTimeout. Call cancel when the work is done, to
// stop the timer.
func (c *Context) WithTimeout(d time.Duration) (child *Context, cancel func()) {
	scope, cancel := c.engine().WithTimeout(d)
	return c.in(scope), cancel
}

// Detached returns a scope that no cancellation reaches, for cleaning up after one. Its calls may use the part of the history
// that is reserved for the end.
func (c *Context) Detached() *Context { return c.in(c.engine().Detached()) }

// Go runs fn as another coroutine of the orchestration, in a child scope. The future is settled with fn's error;
// cancelling it cancels the scope. The context of fn is valid until fn returns: later calls with it fail with
// ErrInvalid. Coroutines never run at the same time, so they may share variables. Those still running when the
// orchestration's function returns end there.
func (c *Context) Go(fn func(*Context) error) Future[None] {
	mustFunc(fn == nil, "Go")
	return Future[None]{f: c.engine().Go(func(s *replay.Scope) error { return fn(c.in(s)) })}
}
