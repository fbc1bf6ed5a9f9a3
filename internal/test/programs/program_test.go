package programs

import "time"

// Program is the code of one instance. Its rounds follow each other by continue-as-new.
type Program struct {
	Rounds []Round `json:"r"`
	Events int     `json:"e,omitempty"` // named "early", sent by the driver at any time
	Served int     `json:"s,omitempty"` // updates and events with handlers, sent by the driver at any time
	Late   bool    `json:"l,omitempty"` // continues as new when the handlers have ended
	Around bool    `json:"a,omitempty"` // all its code, and that of its children, has an interceptor
	Fails  bool    `json:"f,omitempty"` // returns the cancellation, if there was one
}

// Round is what one execution does.
type Round struct {
	Body   []Statement `json:"b,omitempty"`
	Cancel bool        `json:"c,omitempty"` // then cancel the instance and wait until it notices
	Leave  []string    `json:"l,omitempty"` // then begin these and leave them open
}

// Statement is one step. Which fields count depends on what it does.
type Statement struct {
	ID     int           `json:"i"` // unique in the whole program, including its children
	Do     string        `json:"d"`
	N      int           `json:"n,omitempty"`
	Local  bool          `json:"o,omitempty"` // the activities of the statement are local
	Kinds  []string      `json:"k,omitempty"` // the endless things that the statement begins
	Bodies [][]Statement `json:"b,omitempty"`
	Child  *Program      `json:"c,omitempty"`
	Family int           `json:"f,omitempty"` // chooses the options of a child; 0: none, as in programs that were stored before there were any
}

// forever is the duration of everything that must lose a race.
const forever = 365 * 24 * time.Hour

// These never end by themselves.
const (
	hangs  = "activity"
	sleeps = "timer"
	stays  = "child"
	listen = "coroutine" // waits for an event that never comes
)

// These are the statements. Those of the first group call activities.
const (
	doCall   = "call"   // an activity that succeeds
	doBulk   = "bulk"   // one with a large payload
	doRetry  = "retry"  // one that fails N%5 times and is tried 3 times
	doFinal  = "final"  // one whose error must not be retried
	doPanic  = "panic"  // one that panics
	doSlow   = "slow"   // one that runs into its timeout
	doDenied = "denied" // one that fails with a typed error
	doFan    = "fan"    // N at once; every third fails

	doSleep  = "sleep"
	doRing   = "ring"   // has an event sent to itself and receives it
	doPoll   = "poll"   // the same by polling
	doSelect = "select" // the same, among other events that never come
	doWithin = "within" // waits some time for an event that never comes
	doEarly  = "early"  // receives N of the driver's events
	doServed = "served" // waits until the handlers of the driver's first N have begun; local: by a condition
	doEffect = "effect" // side effect, which fails if N is odd
	doOrder  = "order"  // makes timers from the order of what was seen
	doThrow  = "throw"
	doPatch  = "patch" // newer code makes a call more, behind a patch
	doShow   = "show"  // sets or deletes a key-value and sets an attribute, both of its own

	doAwait   = "await"   // 1 + N%4 coroutines wait for a condition that one after the other makes false, some within a limit
	doPromise = "promise" // a promise that a coroutine sets, or fails if N is odd, against one that is set later

	doChild  = "child"
	doTwice  = "twice"  // two children that want the same ID
	doAway   = "away"   // an instance that is no child: an event there and back, a cancellation if N is odd, and its end
	doRace   = "race"   // an activity against endless things
	doRush   = "rush"   // a coroutine against endless things
	doGiveUp = "giveup" // cancels one future

	doPar      = "par" // a coroutine for each body
	doLoop     = "loop"
	doTry      = "try"
	doDetached = "detached"
	doTimeout  = "timeout" // scope that times out while it waits; bodies: in the dead scope, cleanup
	doPatient  = "patient" // scope that does not time out
	doScope    = "scope"   // bodies: before cancel, in the dead scope, cleanup
)

// ThrownError is the error of a program that fails. It carries what the program saw.
type ThrownError struct {
	What  string
	Lines []string
}

// Error implements error.
func (t *ThrownError) Error() string { return "thrown " + t.What }

// DeniedError is a typed error of an activity.
type DeniedError struct{ Code int }

// Error implements error.
func (d *DeniedError) Error() string { return "denied" }

// Outcome is everything that must not depend on how a program is run.
type Outcome struct {
	Status     string
	Class      string // of the error
	Executions int64
	Lines      []string // what the code saw, in the order of the program
	Shown      []string // what others see: status, key-values and attributes
}
