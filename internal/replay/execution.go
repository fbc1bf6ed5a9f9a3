package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"math/rand/v2" //nolint:depguard // seeded by the execution: the same on every replay
	"sync/atomic"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Code sees these limits as errors, so replay must judge as the live run did: they belong to
// FlagsCurrent, and a release that changes one does so under a new flag.
const (
	// reservedEvents and reservedBytes of a history are kept for cancelling, cleaning up and ending.
	reservedEvents = 1_000
	reservedBytes  = 4 << 20
	// maxPendingActivities bounds the activities that one execution waits for, and maxPending
	// all that it waits for: cancelling it must fit into one commit.
	maxPendingActivities = 10_000
	maxPending           = 11_000
	// maxBurst and maxBurstBytes bound what code may ask for in answer to one message. With the
	// cancelling of all that is pending it fits into one commit, whatever the message.
	maxBurst      = 12_000
	maxBurstBytes = provider.MaxCommitBytes / 2
	// A turn that has so much to store takes no further message.
	maxTurn      = provider.MaxCommitRows - maxBurst - maxPending - 3*maxLocals - 100
	maxTurnBytes = provider.MaxCommitBytes / 8
	// maxUnread bounds the events that are carried over to the next execution.
	maxUnread = provider.MaxCommitRows / 2
	// maxSeen is how many request IDs an instance remembers to drop repeats.
	maxSeen = 10_000
	// coroutineBytes is what a parked coroutine costs in memory, roughly.
	coroutineBytes = 8 << 10
	// pendingBytes is what an operation that code waits for costs, namedBytes what a mailbox and a remembered request ID cost beside their names.
	pendingBytes = 512
	namedBytes   = 128
)

// The scheduler behaviours. A change of what code sees gets a flag here, and old histories
// replay by the flags that they were started with.
const (
	flagOneByOne = 1 << iota // messages are applied one at a time
	flagScopes               // a returned coroutine's scope is over; detached scopes may use the reserve
)

// FlagsCurrent are the behaviours that new executions are started with.
const FlagsCurrent = flagOneByOne | flagScopes

// EngineLevel is the highest level of stored executions that this release can run; it is
// raised by a release whose executions older releases must not touch. Level 2: a limit on
// the bytes of a history. Level 3: what giving up an activity does. Level 4: timeouts and
// places of activities, and the list of their attempts. Level 5: a start with a delay.
const EngineLevel = 5

// LowestLevel is the level of an execution that uses nothing newer, and LevelOfDelay that of a start with a delay. So nodes of the
// release before run all but these.
const (
	LowestLevel  = 4
	LevelOfDelay = 5
)

// DefaultSettings are the limits that new executions are started with.
func DefaultSettings() history.Settings {
	return history.Settings{MaxPayload: 2 << 20, MaxEvents: 50_000, MaxBytes: 50 << 20, Flags: FlagsCurrent}
}

// Names knows the functions that are registered on a node.
type Names interface {
	// Check answers an error that says how to mend it unless the function at pointer is
	// the one that is registered under the name.
	Check(name string, pointer uintptr) error
}

// Env is what a node gives to the executions that it runs.
type Env struct {
	NewKey         func() [16]byte // makes the key of a child instance
	Logger         *slog.Logger
	Errors         *failure.Set
	Activities     Names
	Orchestrations Names
}

// Info identifies an execution.
type Info struct {
	ID          string
	Key         provider.UUID
	Execution   int64
	Name        string
	CodeVersion string
	Parent      history.Parent

	keyText string
}

// seed is the same on every node and every replay of the execution.
func (i *Info) seed() [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64(i.Key[:], uint64(i.Execution)))
}

// Body is the main function of an orchestration, its types erased.
type Body func(s *Scope) Result

// Result is what a Body answers: an output, a failure or the next execution.
type Result struct {
	Output    []byte
	Failure   *history.Failure
	Cancelled bool // the failure is the cancellation itself
	Continue  *history.ContinuedAsNew
}

// Execution is one execution of an instance in memory. See the package comment for who
// may use it.
type Execution struct {
	env      *Env
	info     Info
	main     Body
	settings history.Settings
	logger   *slog.Logger // see log

	// What follows is changed by code and by messages, one at a time.
	root         *Scope
	now          int64
	length       int64
	size         int64 // of all events, as history.Size counts
	warned       bool  // that the history gets long
	started      bool
	opened       bool
	pending      map[int64]*Future
	activities   int
	failed       []leftError
	locals       []*LocalCall
	asked        int64 // calls of local activities
	burst        burst
	effect       bool // the function of a side effect is running
	freshBytes   int  // of the commands of bursts before this one that are not confirmed
	mailboxes    map[string]*Mailbox
	mailboxOrder []*Mailbox
	seen         map[string]struct{}
	seenOrder    []string
	cancelled    *history.Event // the first cancel request
	random       *rand.Rand
	startEvent   *history.ExecutionStarted
	fresh        []history.Event
	end          *End
	fault        error
	retained     int // bytes of what size depends on: see Size

	script     []history.Event // on replay: the stored history
	position   int
	replaying  atomic.Bool
	coroutines []*coroutine
	ready      []*coroutine

	// These are read from outside while code runs.
	current   atomic.Pointer[coroutine]
	unwinding atomic.Pointer[coroutine] // by Close
	closed    atomic.Bool               // calls of code end their goroutines
	unwound   atomic.Bool
	progress  atomic.Int64
	effects   atomic.Int64
	violation atomic.Pointer[ForeignCallError]
	held      atomic.Pointer[heldLog] // of a speculative turn
}

// New makes an execution that has applied nothing yet.
func New(env *Env, info Info, body Body) *Execution {
	info.keyText = info.Key.String()
	x := &Execution{
		env: env, info: info, main: body,
		pending:   make(map[int64]*Future),
		mailboxes: make(map[string]*Mailbox),
		seen:      make(map[string]struct{}),
	}
	x.root = &Scope{x: x}
	return x
}

// Info answers what identifies the execution.
func (x *Execution) Info() Info { return x.info }

// Env answers the node's environment.
func (s *Scope) Env() *Env { return s.x.env }

// Info answers what identifies the execution.
func (s *Scope) Info() Info {
	s.x.look()
	return s.x.info
}

// Length is how many events the execution has, those of an unconfirmed turn included.
func (x *Execution) Length() int64 { return x.length }

// Size estimates the memory that the execution holds between turns, in bytes: the input, events and results that code has not read,
// request IDs, pending operations and coroutines. It does not depend on the length of the history, and does not know what code keeps.
func (x *Execution) Size() int {
	return x.retained + coroutineBytes*(len(x.coroutines)+1) + pendingBytes*(len(x.pending)+len(x.locals)) +
		namedBytes*(len(x.seen)+len(x.mailboxes))
}

// Activities is for how many activities the execution waits.
func (x *Execution) Activities() int { return x.activities }

// Replaying tells whether stored history is being applied.
func (x *Execution) Replaying() bool { return x.replaying.Load() }

// Fault is why the execution can no longer be used, or nil.
func (x *Execution) Fault() error { return x.fault }

func (x *Execution) fail(err error) {
	if x.fault == nil {
		x.fault = err
	}
}

func (x *Execution) dropPending(id int64) { delete(x.pending, id) }
