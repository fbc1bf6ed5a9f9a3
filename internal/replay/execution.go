package replay

import "github.com/perdure/perdure/internal/history"

// Body is the main function of an orchestration, with its types erased.
type Body func(s *Scope) Result

// Result is what a Body returns: an output, a failure or the next execution.
type Result struct {
	Output    []byte
	Failure   *history.Failure
	Cancelled bool // the failure is the cancellation itself
	Continue  *history.ContinuedAsNew
	// KeepVersion says that the next execution runs the version of this one.
	KeepVersion bool
}

// Execution is one execution of an instance in memory. The package comment says which goroutines may use it.
type Execution struct {
	core

	main       Body
	started    bool
	opened     bool
	begun      bool           // its main function has
	blocked    bool           // its main function has begun, and all code has blocked since
	warned     bool           // that the history gets long
	held       bool           // code has not continued since the last message
	gotMessage bool           // a message came after those that open the execution
	cancelled  *history.Event // the first cancel request
	end        *End
}

// New makes an execution that has applied nothing yet.
func New(env *Env, info Info, body Body) *Execution {
	info.keyText, info.Runs = info.Key.String(), info.CodeVersion
	x := &Execution{main: body, core: core{
		env: env, info: info,
		pending:  operations{futures: make(map[int64]*Future)},
		boxes:    mailboxes{byName: make(map[string]*Mailbox)},
		requests: requestIDs{seen: make(map[string]struct{})},
	}}
	x.events.sched = &x.sched
	x.root = &Scope{x: &x.core}
	return x
}

// Info returns what identifies the execution.
func (v View) Info() Info { return v.x.info }

// Length returns how many events the execution has, those of an unconfirmed turn included.
func (v View) Length() int64 { return v.x.events.length }

// Size estimates the memory that the execution holds between turns, in bytes. It counts input, unread events and
// results, request IDs, pending operations and coroutines. It does not depend on the length of the history, and does
// not count variables of the code.
func (v View) Size() int {
	return v.x.retained + v.x.events.headers.bytes + v.x.state.size() + v.x.boxes.size() + v.x.requests.size() + v.x.handlers.size() +
		v.x.job.size() + v.x.updates.size() + v.x.failures.size() + v.x.waits.size() + namedBytes*len(v.x.events.patches) +
		coroutineBytes*(len(v.x.sched.coroutines)+1) + pendingBytes*(len(v.x.pending.futures)+len(v.x.locals.open))
}

// Activities returns how many activities the execution waits for.
func (v View) Activities() int { return v.x.pending.activities }

// Awaits reports whether the execution has not ended and waits for the outcome of the event.
func (v View) Awaits(id int64) bool { return v.x.end == nil && v.x.pending.futures[id] != nil }

// TurnFull reports whether the turn has so much to store already that further messages should wait for the next one.
func (v View) TurnFull() bool {
	return v.x.events.turnFull() || v.x.state.turnFull() || v.x.updates.turnFull()
}

// Ended reports whether the execution has ended.
func (v View) Ended() bool { return v.x.end != nil }

// End returns how the execution ended, nil if it has not.
func (v View) End() *End { return v.x.end }

// Stored returns how many of the events are stored.
func (v View) Stored() int64 { return v.x.events.length - int64(len(v.x.events.fresh)) }

// Fault returns why the execution can no longer be used, or nil.
func (v View) Fault() error { return v.x.sched.fault }

// Parked reports whether there is code to unwind.
func (v View) Parked() bool { return v.x.sched.parked() }

// Close unwinds all parked code; deferred functions run. Later calls from its coroutines end their goroutines. Close
// blocks as long as deferred functions of user code do. The goroutine that used the execution last may call it once.
func (x *Execution) Close() { x.sched.close() }
