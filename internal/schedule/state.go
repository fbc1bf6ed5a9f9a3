package schedule

import (
	"bytes"
	"encoding/json"
	"time"
)

// Names of the updates that steer a schedule, and of what it shows.
const (
	UpdatePause    = "pause"
	UpdateResume   = "resume"
	UpdateTrigger  = "trigger"
	UpdateBackfill = "backfill"
	UpdateChange   = "change"

	ValueKey   = "schedule" // View
	EndedEvent = "ended"    // orchestration.Ended
)

// Limits of a schedule.
const (
	MaxID       = 256     // bytes of its ID
	MaxInput    = 1 << 20 // bytes of the input of its runs
	MaxBackfill = 1000    // due times of one backfill
	MaxNote     = 1 << 10 // bytes of a note
	Kept        = 10      // skips and ended runs that it remembers
	Blocks      = 3       // ticks that a run may hold up before it is a finding
)

// Action is what a schedule starts. The input is that of each run.
type Action struct {
	Orchestration string          `json:"orchestration"`
	Version       string          `json:"version,omitempty"`
	Newest        bool            `json:"newest,omitempty"` // the newest version that a node has, in place of Version
	Input         json.RawMessage `json:"input,omitempty"`
}

// Principal is who made the schedule: see client.Principal.
type Principal struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// State is the input of a schedule's execution: all that it carries over continue-as-new. Releases that run side by side share it, so
// fields are only ever added.
type State struct {
	ID        string     `json:"id"`
	Spec      Spec       `json:"spec"`
	Action    Action     `json:"action"`
	Principal *Principal `json:"principal,omitempty"` // nil: the service itself
	Created   time.Time  `json:"created,omitzero"`
	Revision  int64      `json:"revision"` // of spec and action
	Paused    bool       `json:"paused,omitempty"`
	Note      string     `json:"note,omitempty"` // on the pause or the resume

	After     time.Time  `json:"after,omitzero"`     // due times up to here are handled
	Jittered  *Progress  `json:"jittered,omitempty"` // of a schedule with jitter, in place of After; nil: After says it all
	Waiting   *Pending   `json:"waiting,omitempty"`
	Backfills []Backfill `json:"backfills,omitempty"`
	Running   []Run      `json:"running,omitempty"` // believed
	Counts    Counts     `json:"counts"`
	Skipped   []Skipped  `json:"skipped,omitempty"` // the last ones, newest first
	Ended     []Run      `json:"ended,omitempty"`   // the last ones, newest first
}

// Counts are figures since the schedule was made.
type Counts struct {
	Started  int64            `json:"started"`
	Failed   int64            `json:"failed"`
	InARow   int              `json:"failedInARow"`
	Skipped  map[string]int64 `json:"skipped,omitempty"`  // by reason
	OfLimit  int              `json:"ofLimit,omitempty"`  // starts that count towards the limit
	Problems int64            `json:"problems,omitempty"` // checks that failed
}

// Pending is a start that waits for the end of the run before.
type Pending struct {
	Due       time.Time `json:"due"`
	More      string    `json:"more,omitempty"`     // see reserved.RunID
	Cancelled time.Time `json:"cancelled,omitzero"` // when the run before was cancelled for it
}

// Backfill is a stretch of due times that are started one after the other, as the overlap allows.
type Backfill struct {
	After  time.Time `json:"after"` // due times up to here are done
	To     time.Time `json:"to"`    // inclusive
	Update string    `json:"update"`
	Left   int       `json:"left"`
}

// Run is an instance that the schedule has started.
type Run struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	Due     time.Time `json:"due"`
	Started time.Time `json:"started"`
	Blocked int       `json:"blocked,omitempty"` // due times that were skipped or held up because it goes on
	Status  string    `json:"status,omitempty"`
}

// Skipped is a due time that has no run.
type Skipped struct {
	Due    time.Time `json:"due"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail,omitempty"`
	Count  int64     `json:"count,omitempty"` // of due times, if more than one; Due is then the last
}

// Reasons why a due time has no run.
const (
	ReasonRunning   = "running"   // the run before goes on
	ReasonLimit     = "limit"     // as many runs go on as may
	ReasonWaiting   = "waiting"   // another start waits already
	ReasonSuspended = "suspended" // the run before was cancelled, but is suspended
	ReasonInUse     = "id-in-use" // the instance ID belongs to another instance
	ReasonMissed    = "missed"    // no node was there in time
	ReasonForbidden = "forbidden" // the principal may not start it
	ReasonRefused   = "refused"   // the engine refused the start
	ReasonPaused    = "paused"    // it waited when the schedule was paused
)

// View is what a schedule shows. It is a value of its instance.
type View struct {
	State

	InputSum string    `json:"inputSum,omitempty"` // of the input
	Next     []Due     `json:"next,omitempty"`
	Done     bool      `json:"done,omitempty"`    // no start will come
	Problem  string    `json:"problem,omitempty"` // why it cannot go on at present
	Ahead    Duration  `json:"ahead,omitzero"`    // by how much the store's time is ahead of the clock of the node
	Runs     int       `json:"runs,omitempty"`    // how many go on; Running has the first of them
	Looked   time.Time `json:"looked,omitzero"`   // when it last looked at its times
}

// Matches reports whether the schedule is as a change that names an action wants it.
func (s *State) Matches(c *Change) bool {
	if c.Action == nil || s.Action.Orchestration != c.Action.Orchestration || s.Action.Version != c.Action.Version || s.Action.Newest != c.Action.Newest ||
		Sum(s.Action.Input) != Sum(c.Action.Input) {
		return false
	}
	stored, err := json.Marshal(s.Spec)
	wanted, err2 := json.Marshal(c.Spec)
	return err == nil && err2 == nil && bytes.Equal(stored, wanted)
}
