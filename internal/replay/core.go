package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Names knows the functions that are registered on a node.
type Names interface {
	// Check returns nil if the function at pointer is registered under the name. Otherwise it returns an error that says
	// how to fix it.
	Check(name string, pointer uintptr) error
}

// Env is what a node gives to the executions that it runs.
type Env struct {
	NewKey         func(id string) [16]byte // makes the key of a child instance
	Logger         *slog.Logger             // of code
	OwnLogger      *slog.Logger             // of the lines that the engine writes itself; nil: Logger
	Errors         *failure.Set
	Activities     Names
	Defaults       map[string]*history.ActivityScheduled // options of the calls of activities by name, from their registration
	Orchestrations Names
	// Interceptors is a bind.Around[*orchestration.Context], which code of users runs in. Nil: there are no interceptors.
	Interceptors any
	// Newest returns the newest version of an orchestration on this node, or the given one if no version is newer. Nil: no
	// version is registered.
	Newest func(name, version string) string
	// MayNote reports whether a message may note that there is a newer version. Nil: none may.
	MayNote func() bool
}

// Info identifies an execution.
type Info struct {
	ID          string
	Key         provider.UUID
	Execution   int64
	Name        string
	CodeVersion string // from the start event, as soon as that is applied
	Runs        string // the version whose code runs
	Newer       bool   // a message has noted that there is a newer version
	Parent      history.Parent
	// ParentExecution is the execution of the parent that waits for the end. A reset of the parent gives it the children that are pending, and
	// their start events still name the one before. 0: the one of Parent. Code must not see it.
	ParentExecution int64

	keyText string
}

// seed returns the same on every node and every replay of the execution.
func (i *Info) seed() [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64(i.Key[:], uint64(i.Execution)))
}

// core is the state of an execution that both its code and the messages to it change, one at a time. Scopes, futures
// and mailboxes are handles on it.
type core struct {
	env        *Env
	info       Info
	settings   history.Settings
	startEvent *history.ExecutionStarted
	root       *Scope             // of the main function
	startedAt  int64              // of startEvent, microseconds UTC
	caller     []byte             // see Execution.EncodedCaller; nil: not made yet
	from       *history.Caller    // see Execution.Caller; nil: not made yet
	header     []byte             // of the start, with a later anchor; nil: as it is
	trace      string             // context of the anchor; "": none
	traceAt    int64              // when the anchor began, microseconds UTC
	now        int64              // of the event last applied, microseconds UTC
	fork       *history.ForkPoint // the last one; nil: none
	as         *history.Identity  // what the code sees of the identity, up to a ForkPoint; nil: info
	random     *random            // see Scope.Rand

	sched    scheduler
	events   recorder
	pending  operations
	locals   localCalls
	boxes    mailboxes
	requests requestIDs
	handlers queryHandlers
	job      handlerJob
	updates  *updates // nil: none came, and code handles none
	turns    int64    // confirmed so far
	closing  *closing // nil: the main function has not returned before its handlers
	lost     lostErrors
	log      codeLog
	state    *state     // nil: code has set nothing
	waits    *waitTexts // nil: no wait has had a text
	failures *failures  // nil: no activity has failed
	notes    []Note     // since the last confirmed commit
	figures  figures
	retained int // bytes of the start event and of results that code has not read
}

// logger makes the logger of code on first use. Most executions never log, and all that sleep would hold one.
func (x *core) logger() *slog.Logger {
	if x.log.logger == nil {
		x.log.logger = x.loggerFrom(x.env.Logger)
	}
	return x.log.logger
}

// ownLogger returns the logger of what the engine itself says about the execution. It is not kept, since that is little.
func (x *core) ownLogger() *slog.Logger {
	if x.env.OwnLogger == nil {
		return x.logger()
	}
	return x.loggerFrom(x.env.OwnLogger)
}

func (x *core) loggerFrom(l *slog.Logger) *slog.Logger {
	l = slog.New(&logHandler{x: x, inner: l.Handler()}).With("instance", x.info.ID, "execution", x.info.Execution, "orchestration", x.info.Name)
	if trace, span := history.TraceIDs(x.trace); trace != "" {
		l = l.With("trace_id", trace, "span_id", span)
	}
	return l
}
