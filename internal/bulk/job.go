// Package bulk has the forms that package operate and the orchestration of bulk jobs share. Releases that run side by side share them, too, so
// fields are only ever added.
package bulk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// Control is the event that stops and resumes a job.
	Control = "control"
	// ValueKey is the key-value that shows the View.
	ValueKey = "bulk"
	// Step is the activity, without its reserved prefix.
	Step = "bulk.step"
	// MaxStep is how many instances one step looks at.
	MaxStep = 100
	// StepTime is how long a step goes on to the next instance.
	StepTime = 5 * time.Second
	// Chunk is how many failures are in a value.
	Chunk = 125
	// Chunks is how many values have failures: a job keeps the last 10,000.
	Chunks = 80
	// maxText bounds the texts of a failure, so that a chunk fits into a value.
	maxText = 128
)

// Args are the arguments of acts. Each act reads its own.
type Args struct {
	Reason  string          `json:"reason,omitempty"`
	Event   string          `json:"event,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Version string          `json:"version,omitempty"`
	Force   bool            `json:"force,omitempty"`
	Point   int64           `json:"point,omitempty"` // the event to reset to or to fork at
	Drop    bool            `json:"drop,omitempty"`  // the events after the point
	To      string          `json:"to,omitempty"`    // in place of Point: the kind of point that is looked for in each history
	In      int64           `json:"-"`               // with To: the execution in which Point was found
	Prefix  string          `json:"prefix,omitempty"`
}

// Principal is whoever began the job: see client.Principal. Nil is the service itself.
type Principal struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// Job is what a job does. Its filter is bounded to the instances that there were at the preview.
//
//nolint:recvcheck // a job is marshalled as a value, and unmarshalled into one
type Job struct {
	ID        string          `json:"id"`
	Act       string          `json:"act"`
	Args      Args            `json:"args"`
	Filter    provider.Filter `json:"filter"`
	Max       int64           `json:"max"`            // instances
	Rate      float64         `json:"rate,omitempty"` // instances a second, or tasks of an act on tasks; 0: as fast as they go
	Principal *Principal      `json:"principal,omitempty"`
	// Text leaves out instances whose error is another text. It is for a filter of a failure group, which may have several.
	Text string `json:"text,omitempty"`

	read json.RawMessage // that the job was read from; nil: it was made here
}

// Counts say what became of the instances that were looked at.
type Counts struct {
	Done    int64 `json:"done"`
	Skipped int64 `json:"skipped"` // the filter did not match any more, or the act had no effect
	Failed  int64 `json:"failed"`
}

// Total returns how many instances were looked at.
func (c Counts) Total() int64 { return c.Done + c.Skipped + c.Failed }

// Plus returns the sum with other counts.
func (c Counts) Plus(other Counts) Counts {
	return Counts{c.Done + other.Done, c.Skipped + other.Skipped, c.Failed + other.Failed}
}

// Failure is an instance on which the act failed.
type Failure struct {
	ID    string        `json:"id"`
	Key   provider.UUID `json:"key"`
	Error string        `json:"error"`
}

// Cut shortens the texts so that failures fit into a value.
func (f Failure) Cut() Failure {
	f.ID, f.Error = cut(f.ID), cut(f.Error)
	return f
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-3], "") + "..."
}

// Position is how far a job has come: in the page that Cursor begins, behind the instance with At and Key.
type Position struct {
	Cursor string        `json:"cursor,omitempty"`
	At     provider.Time `json:"at,omitempty"`
	Key    provider.UUID `json:"key,omitzero"`
}

// Passed reports whether an instance of the page is at or before the position. Pages have the newest instance first.
func (p *Position) Passed(i *provider.Instance) bool {
	if p.Key.IsZero() {
		return false
	}
	return i.CreatedAt > p.At || i.CreatedAt == p.At && bytes.Compare(i.Key[:], p.Key[:]) >= 0
}

// StepRequest asks for the next instances of a job.
type StepRequest struct {
	Job  Job           `json:"job"`
	Key  provider.UUID `json:"key"` // of the job
	From Position      `json:"from"`
	Max  int           `json:"max"`
}

// Stepped is what a step did, also the heartbeat of a step in progress.
type Stepped struct {
	Counts

	To       Position  `json:"to"`             // where the next step continues
	More     bool      `json:"more,omitempty"` // there may be others
	Failures []Failure `json:"failures,omitempty"`
	Tasks    int64     `json:"tasks,omitempty"`   // of the instances, on which an act on tasks has acted: the rate is theirs
	Refused  string    `json:"refused,omitempty"` // why the job cannot go on, such as a missing right
	// Plan are the instances behind To on which the step acts next. It is stored before the first act. An attempt that finds a plan counts
	// what the lost attempt has done of it, although such an instance may be gone or match no more.
	Plan []Planned `json:"plan,omitempty"`
}

// Planned is an instance on which a step is about to act.
type Planned struct {
	Key provider.UUID `json:"key"`
	ID  string        `json:"id,omitempty"`  // of an act that leaves its trace at another instance; "": another act, or the plan of an older release
	At  provider.Time `json:"at"`            // when it was created
	Due bool          `json:"due,omitempty"` // there was something to do, of an act that leaves no trace
	// Tasks are the tasks of an act on tasks, with the attempts that were pending. Another attempt is left alone, so that a repeated step does
	// nothing twice.
	Tasks []PlannedTask `json:"tasks,omitempty"`
	// Point is where the history is opened, of an act that looks for its point; nil: there was none. A repeated step opens it there or not at all.
	Point *PlannedPoint `json:"point,omitempty"`
}

// PlannedPoint is an event of an execution of an instance.
type PlannedPoint struct {
	Execution int64 `json:"execution"`
	Event     int64 `json:"event"`
}

// PlannedTask is an attempt of a task of an instance.
type PlannedTask struct {
	Execution int64 `json:"execution"`
	Event     int64 `json:"event"`
	Attempt   int64 `json:"attempt"`
}

// Names reports whether the planned attempt is the one that is pending.
func (p PlannedTask) Names(t *provider.TaskInfo) bool {
	return p.Execution == t.Execution && p.Event == t.EventID && p.Attempt == t.Attempt
}

// State is the input of an execution: all that a job carries over continue-as-new.
type State struct {
	Job      Job       `json:"job"`
	At       Position  `json:"at"`
	Counts   Counts    `json:"counts"`
	Failures []Failure `json:"failures,omitempty"` // of the chunk that is not full
	Started  time.Time `json:"started,omitzero"`
	Stopped  bool      `json:"stopped,omitempty"`
}

// View is what a job shows.
type View struct {
	Job     Job       `json:"job"`
	Phase   string    `json:"phase"` // one of the phases
	Counts  Counts    `json:"counts"`
	Started time.Time `json:"started,omitzero"`
	Looked  time.Time `json:"looked,omitzero"` // at the end of the last step
	Problem string    `json:"problem,omitempty"`
}

// The phases of a job.
const (
	PhaseRunning = "running"
	PhaseStopped = "stopped"
	PhaseDone    = "done"
	PhaseRefused = "refused" // see View.Problem
	PhaseGivenUp = "given up"
)

// Requests of the control event.
const (
	ControlStop   = "stop"
	ControlResume = "resume"
)

// FailuresKey is the key-value of a chunk of failures.
func FailuresKey(chunk int64) string { return fmt.Sprintf("failures/%02d", chunk) }

// RequestID returns the ID under which a job acts on an instance. A step that is repeated after a crash acts under the same one, so it acts once.
func RequestID(job, instance provider.UUID, act string) string {
	h := sha256.New()
	h.Write(job[:])
	h.Write(instance[:])
	h.Write([]byte(act))
	return "bulk:" + hex.EncodeToString(h.Sum(nil)[:20])
}
