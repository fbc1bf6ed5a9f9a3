package replay

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/internal/platform/goroutine"
)

// scheduler runs the coroutines of one execution, exactly one at a time, in the order in which they became ready.
// A fault or the end of the execution stops all of them for good.
type scheduler struct {
	coroutines []*coroutine // that have not returned
	ready      []*coroutine
	conditions []*condition // that coroutines wait for, longest wait first
	atPoint    bool         // the last message is a ForkPoint, at which no condition is looked at
	ended      bool         // the execution has
	fault      error        // the first one
	inEffect   bool         // the function of a side effect is running
	reading    bool         // a condition is running

	// Other goroutines read these while code runs.
	current   atomic.Pointer[coroutine]
	unwinding atomic.Pointer[coroutine] // by close
	closed    atomic.Bool               // calls from code end their goroutines
	unwound   atomic.Bool
	progress  atomic.Int64 // see Execution.Progress
	violation atomic.Pointer[WrongGoroutineError]
	answering atomic.Pointer[answering] // the query whose handler runs; nil: none

	callers map[*coroutine][]uintptr // see NoteCallers; nil: not kept
	held    map[*coroutine][]held    // nil: no coroutine has ever held something
}

// spawn makes a coroutine that will run body and puts it into the ready queue. It belongs to the run of a handler, or
// to the main function if run is nil.
func (s *scheduler) spawn(run *handlerRun, body func()) {
	co := newCoroutine(s, body)
	co.run = run
	if by := s.current.Load(); by != nil {
		co.at = by.at
	}
	co.index = len(s.coroutines)
	s.coroutines = append(s.coroutines, co)
	s.enqueue(co)
}

// spawnFirst is spawn for a run that begins. It goes before the main function's coroutines, so that they never pass what came
// before they return or continue as new. Runs keep their order.
func (s *scheduler) spawnFirst(run *handlerRun, body func()) {
	s.spawn(run, body)
	last := len(s.ready) - 1
	if at := slices.IndexFunc(s.ready, func(co *coroutine) bool { return co.run == nil }); at >= 0 {
		co := s.ready[last]
		s.ready = slices.Insert(s.ready[:last], at, co)
	}
}

// drop ends the coroutines of a run that does not go on.
func (s *scheduler) drop(run *handlerRun) {
	for _, co := range s.coroutines {
		co.over = co.over || co.run == run
	}
	s.ready = slices.DeleteFunc(s.ready, func(co *coroutine) bool { return co.over })
	for _, co := range s.coroutines {
		if co.run == run {
			s.loseHeld(co)
		}
	}
}

// enqueue makes a coroutine ready, once.
func (s *scheduler) enqueue(co *coroutine) {
	if co.queued || co.done || co.over {
		return
	}
	co.queued = true
	s.ready = append(s.ready, co)
}

// run resumes ready coroutines in order until all are blocked, the execution has ended or a fault stops it. When none is
// ready, those that wait for conditions look at them.
func (s *scheduler) run() {
	s.runReady()
	if len(s.conditions) > 0 && !s.atPoint {
		s.judge()
	}
	if len(s.ready) == 0 {
		s.ready = nil
	}
	if v := s.violation.Load(); v != nil {
		s.fail(v)
	}
}

// runReady resumes ready coroutines in order.
func (s *scheduler) runReady() {
	for len(s.ready) > 0 && s.fault == nil && !s.ended {
		co := s.ready[0]
		s.ready = s.ready[1:]
		co.queued = false
		s.resume(co)
	}
}

// judge lets coroutines look at the conditions that they wait for, when none is ready: the longest wait first, each on its own
// coroutine. One whose wait ends goes on at once, and so does all that it wakes, before the next one looks. The rounds go
// on until each condition was false since code ran last.
func (s *scheduler) judge() {
	for at, no := 0, 0; no < len(s.conditions) && s.fault == nil && !s.ended; {
		at %= len(s.conditions)
		c := s.conditions[at]
		if !c.co.over {
			s.resume(c.co)
		}
		if c.co.condition == c && !c.co.over {
			at, no = at+1, no+1
			continue
		}
		// Code may have added conditions behind it. It cannot have removed one.
		s.conditions = slices.Delete(s.conditions, at, at+1)
		if s.runReady(); !c.co.over {
			no = 0
		}
	}
}

// resume runs a coroutine until it blocks or returns.
func (s *scheduler) resume(co *coroutine) {
	s.progress.Add(1)
	s.current.Store(co)
	co.next()
	s.current.Store(nil)
}

// forget drops a finished coroutine from the list of live ones.
func (s *scheduler) forget(co *coroutine) {
	if s.closed.Load() {
		return
	}
	last := len(s.coroutines) - 1
	s.coroutines[co.index] = s.coroutines[last]
	s.coroutines[co.index].index = co.index
	s.coroutines[last] = nil
	s.coroutines = s.coroutines[:last]
}

// held is something that a coroutine holds and has to release before it ends.
type held interface {
	// lose says that the coroutine has ended.
	lose()
}

// holds notes that a coroutine holds something.
func (s *scheduler) holds(co *coroutine, what held) {
	if s.held == nil {
		s.held = make(map[*coroutine][]held)
	}
	s.held[co] = append(s.held[co], what)
}

// holdsNoMore notes that a coroutine has released something.
func (s *scheduler) holdsNoMore(co *coroutine, what held) {
	if left := slices.DeleteFunc(s.held[co], func(other held) bool { return other == what }); len(left) > 0 {
		s.held[co] = left
	} else {
		delete(s.held, co)
	}
}

// loseHeld is called when a coroutine ends.
func (s *scheduler) loseHeld(co *coroutine) {
	for _, what := range s.held[co] {
		what.lose()
	}
	delete(s.held, co)
}

// fail notes a fault. Only the first one counts.
func (s *scheduler) fail(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// failPanic is called while the stack of the panic is still there.
func (s *scheduler) failPanic(panicked any) {
	s.fail(&PanicError{Value: short(panicked), Stack: string(debug.Stack())})
}

// abort records a fault and parks the running coroutine, which never continues. No coroutine runs while a message
// takes effect, such as a cancelled scope. The scheduler then stops before it resumes the next one.
func (s *scheduler) abort(err error) {
	s.fail(err)
	if co := s.current.Load(); co != nil {
		co.park()
	}
}

// enter begins every call from code that leaves a trace. It returns the running coroutine.
func (s *scheduler) enter() *coroutine {
	co := s.checkCaller()
	if s.inEffect {
		s.abort(fmt.Errorf("the function of a side effect uses the engine at %s: it is not run on replay, so call the engine outside of it",
			callerOutside()))
	}
	return co
}

// within runs fn where code may run, so that the watch of turns sees it.
func (s *scheduler) within(fn func()) {
	if s.current.Load() != nil {
		fn()
		return
	}
	co := newCoroutine(s, fn)
	co.index = len(s.coroutines)
	s.coroutines = append(s.coroutines, co)
	s.resume(co)
}

// checkCaller begins every call from code that leaves no trace. It returns the running coroutine. In a condition the call
// fails the turn.
func (s *scheduler) checkCaller() *coroutine {
	co := s.running()
	if s.reading {
		s.abort(fmt.Errorf("a condition of Await uses the engine at %s: it may only read variables of the code, and call Now, Info, Err and "+
			"Logger of the Context and Ready of a Future, so call the engine in the code that changes the variables", callerOutside()))
	}
	return co
}

// running returns the running coroutine. A call from a closed execution or another goroutine never returns. It must not
// touch the state, and a panic there could kill the process.
func (s *scheduler) running() *coroutine {
	if s.closed.Load() {
		runtime.Goexit()
	}
	co := s.current.Load()
	if co == nil {
		s.refuse()
		s.violate("while no code of it was running")
	}
	if !co.goroutine.isCurrent() {
		s.refuse()
		s.violate("while other code was running")
	}
	s.progress.Add(1)
	return co
}

// checkReader begins every call that a condition and a handler of a query may make, too. It touches no state.
func (s *scheduler) checkReader() {
	if a := s.answering.Load(); a != nil && a.goroutine.isCurrent() && !s.closed.Load() {
		return
	}
	s.running()
}

func (s *scheduler) violate(when string) {
	s.violation.CompareAndSwap(nil, &WrongGoroutineError{When: when, Source: callerOutside()})
	runtime.Goexit()
}

// effect runs the function of a side effect, which must not call the engine. Its panic fails the turn even if the code
// would recover: nothing that a replay could find is recorded.
func (s *scheduler) effect(fn func()) {
	co := s.current.Load()
	s.inEffect = true
	defer func() {
		s.inEffect = false
		if p := recover(); p != nil {
			s.failPanic(p)
			co.park()
		}
	}()
	fn()
}

// isTrue calls a condition.
func (s *scheduler) isTrue(cond func() bool) bool {
	s.reading = true
	defer func() { s.reading = false }()
	met := cond()
	s.running() // the execution may have been abandoned meanwhile
	return met
}

// source returns file and line of the running code, "" if a message acts.
func (s *scheduler) source() string {
	if s.current.Load() == nil {
		return ""
	}
	return callerOutside()
}

// close unwinds all parked coroutines, once.
func (s *scheduler) close() {
	if s.unwound.Swap(true) {
		return
	}
	s.closed.Store(true)
	for _, co := range s.coroutines {
		if co.done {
			continue
		}
		s.unwinding.Store(co)
		unwound := make(chan struct{})
		go func() {
			defer close(unwound)
			co.unwind()
		}()
		<-unwound
	}
	s.unwinding.Store(nil)
}

func (s *scheduler) parked() bool {
	return slices.ContainsFunc(s.coroutines, func(co *coroutine) bool { return !co.done })
}

// goroutine returns the number of the goroutine whose code is running or being unwound, 0 if there is none.
func (s *scheduler) goroutine() uint64 {
	for _, co := range []*coroutine{s.current.Load(), s.unwinding.Load()} {
		if co != nil {
			return co.goroutine.id.Load()
		}
	}
	return 0
}

// stack returns the stack of the running coroutine, "" if none is running.
func (s *scheduler) stack() string {
	co := s.current.Load()
	if co == nil {
		return ""
	}
	id := co.goroutine.id.Load()
	return goroutine.Stacks(id)[id]
}

// coroutine is one thread of an execution's code. Between resumes it is parked in the switch of iter.Pull, which costs
// about 100 ns and needs no running goroutine.
type coroutine struct {
	sched       *scheduler
	next        func() (struct{}, bool)
	discard     func()
	yield       func(struct{}) bool
	goroutine   ownGoroutine
	started     bool
	done        bool
	queued      bool        // in the ready queue
	over        bool        // its main function has returned, so it never continues
	run         *handlerRun // nil: of the main function
	waits       []*wait
	futuresOnly bool       // it waits for futures only, or for a condition
	condition   *condition // that it waits for; nil: none
	began       int64      // event ID of the message that began its run, until it blocks; 0: it has blocked, or is not the first of a run
	index       int        // in scheduler.coroutines
	at          int64      // see Scope.ActsOn
}

func newCoroutine(s *scheduler, body func()) *coroutine {
	co := &coroutine{sched: s}
	co.next, co.discard = iter.Pull(func(yield func(struct{}) bool) {
		co.started, co.yield = true, yield
		co.goroutine.setCurrent()
		s.progress.Add(1)
		returned := false
		defer func() { co.finish(returned, recover()) }()
		body()
		returned = true
	})
	return co
}

// finish notes how the body ended. A panic or Goexit of user code is a fault of the turn, never a crash of the process.
func (co *coroutine) finish(returned bool, panicked any) {
	co.done = true
	s := co.sched
	switch {
	case returned || s.closed.Load():
	case panicked != nil && co.faultOfRun(short(panicked)):
	case panicked != nil:
		s.failPanic(panicked)
	case co.faultOfRun(errGoexit.Error()):
	default:
		s.fail(errGoexit)
	}
	if !s.closed.Load() {
		s.loseHeld(co)
	}
	s.forget(co)
}

// faultOfRun notes the fault of a handler's run whose code ended in another way than by returning, and reports whether
// there is one.
func (co *coroutine) faultOfRun(value string) bool {
	if co.run == nil || co.run.panicked == nil {
		return false
	}
	err := co.run.panicked(value, string(debug.Stack()))
	if err != nil {
		co.sched.fail(err)
	}
	return err != nil
}

// maxPanic bounds the text of a panic's value, which the stack follows.
const maxPanic = 16 << 10

func short(panicked any) string {
	text := fmt.Sprint(panicked)
	if len(text) > maxPanic {
		text = fmt.Sprintf("%s... (%d bytes)", text[:maxPanic], len(text))
	}
	return text
}

// park gives control back to the scheduler until something wakes the coroutine.
func (co *coroutine) park() {
	s := co.sched
	co.began = 0
	s.current.Store(nil)
	co.yield(struct{}{})
	if s.closed.Load() {
		runtime.Goexit()
	}
}

// unwind ends a parked coroutine by Goexit, which runs its deferred functions and also ends the calling goroutine.
func (co *coroutine) unwind() {
	if !co.started {
		co.discard()
		return
	}
	co.next()
}

// ownGoroutine is the goroutine of a coroutine, by its number.
type ownGoroutine struct{ id atomic.Uint64 }

// setCurrent makes the calling goroutine the own one.
func (h *ownGoroutine) setCurrent() { h.id.Store(goroutine.ID()) }

// isCurrent reports whether the caller runs on it. That is cheap enough for every call from code.
func (h *ownGoroutine) isCurrent() bool { return goroutine.ID() == h.id.Load() }
