package programs

import "time"

// Program is the code of one instance. Its rounds follow each other by continue-as-new.
type Program struct {
	Rounds []Round `json:"r"`
	Events int     `json:"e,omitempty"` // named "early", that the driver sends when it likes
	Fails  bool    `json:"f,omitempty"` // returns the cancellation, if there was one
}

// Round is what one execution does.
type Round struct {
	Body   []Statement `json:"b,omitempty"`
	Cancel bool        `json:"c,omitempty"` // then have the instance cancelled, and notice it
	Leave  []string    `json:"l,omitempty"` // then begin these and leave them open
}

// Statement is one step. Which fields count depends on what it does.
type Statement struct {
	ID     int           `json:"i"` // unique in the whole program, children included
	Do     string        `json:"d"`
	N      int           `json:"n,omitempty"`
	Local  bool          `json:"o,omitempty"` // of one that calls activities: they are local ones
	Kinds  []string      `json:"k,omitempty"` // of what it begins that has no end
	Bodies [][]Statement `json:"b,omitempty"`
	Child  *Program      `json:"c,omitempty"`
}

// forever is the time of all that must lose a race.
const forever = 365 * 24 * time.Hour

// What has no end by itself.
const (
	hangs  = "activity"
	sleeps = "timer"
	stays  = "child"
	listen = "coroutine" // waits for an event that never comes
)

// The statements. The first group calls activities.
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
	doPoll   = "poll"   // the same, by looking again and again
	doSelect = "select" // the same, among other things that never come
	doWithin = "within" // waits some time for an event that never comes
	doEarly  = "early"  // receives N of the driver's events
	doEffect = "effect" // side effect, which fails if N is odd
	doTell   = "tell"   // makes timers of the order in which things were seen
	doThrow  = "throw"

	doChild  = "child"
	doTwice  = "twice"  // two children that want the same ID
	doRace   = "race"   // an activity against what has no end
	doRush   = "rush"   // a coroutine against what has no end
	doGiveUp = "giveup" // cancels one future

	doPar      = "par" // a coroutine for each body
	doLoop     = "loop"
	doTry      = "try"
	doDetached = "detached"
	doTimeout  = "timeout" // scope that times out while it waits; bodies: in the dead scope, cleaning up
	doPatient  = "patient" // scope that does not time out
	doScope    = "scope"   // bodies: before cancel, in the dead scope, cleaning up
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

// Outcome is all that must be the same however a program is run.
type Outcome struct {
	Status     string
	Class      string // of the error
	Executions int64
	Lines      []string // what the code saw, in the order of the program
}
