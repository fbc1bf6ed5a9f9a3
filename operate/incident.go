package operate

import (
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// Incident is what somebody on call needs to know first. Times are UTC by the storage's clock.
//
// A part that could not be read is nil, and Unknown says why. So nil never means zero or none.
type Incident struct {
	AsOf     time.Time         `json:"asOf,omitzero"` // zero: the store did not answer
	Store    IncidentStore     `json:"store"`
	Acts     []IncidentAct     `json:"acts"` // what would stop it: the first one stops the most
	Trend    *IncidentTrend    `json:"trend,omitempty"`
	Changed  *IncidentChanges  `json:"changed,omitempty"`
	Failing  *IncidentFailures `json:"failing,omitempty"`
	Retrying *IncidentRetries  `json:"retrying,omitempty"`
	Blocked  *IncidentBlocks   `json:"blocked,omitempty"`
	NoNode   *IncidentNoNode   `json:"noNode,omitempty"` // instances whose code version no node has
	Queues   *IncidentQueues   `json:"queues,omitempty"`
	People   *IncidentPeople   `json:"people,omitempty"` // instances that wait for people
	Nodes    *IncidentNodes    `json:"nodes,omitempty"`
	Unknown  []IncidentUnknown `json:"unknown,omitempty"`
}

// IncidentStore says how the store answers.
type IncidentStore struct {
	Reachable bool          `json:"reachable"`         // one small read was answered
	Latency   time.Duration `json:"latency,omitempty"` // of that read, in nanoseconds; 0: not Reachable
	// Slow says that the read took longer than 250 ms. The other reads came one at a time then, and Failing lacks its last two hours.
	Slow  bool   `json:"slow,omitempty"`
	Error string `json:"error,omitempty"` // why it is not Reachable
}

// IncidentWhy is why a part is not known.
type IncidentWhy string

// The reasons.
const (
	IncidentUnsupported IncidentWhy = "unsupported" // the store lacks the feature
	IncidentTimeout     IncidentWhy = "timeout"     // it was not read within two seconds, or all within five, or within the deadline of the context
	IncidentFailed      IncidentWhy = "failed"      // reading it failed
	IncidentForbidden   IncidentWhy = "forbidden"   // who asks may not see it
	IncidentNotAsked    IncidentWhy = "not-asked"   // the store did not answer the first read, so it was left alone
)

// IncidentUnknown is a part of an Incident that is not known.
type IncidentUnknown struct {
	Part  string      `json:"part"` // as the JSON of Incident names it
	Why   IncidentWhy `json:"why"`
	Error string      `json:"error,omitempty"`
}

// IncidentGrowth says whether a figure of the last hour is higher than that of the hour before.
type IncidentGrowth string

// The growth of a figure. Differences of a tenth or less are steady.
const (
	IncidentGrowing       IncidentGrowth = "growing"
	IncidentSteady        IncidentGrowth = "steady"
	IncidentFalling       IncidentGrowth = "falling"
	IncidentGrowthUnknown IncidentGrowth = "unknown"
)

// IncidentRate compares the last hour with the hour before.
type IncidentRate struct {
	Last   *client.Counted `json:"last,omitempty"`   // nil: not known
	Before *client.Counted `json:"before,omitempty"` // nil: not known
	Growth IncidentGrowth  `json:"growth"`
}

// IncidentTrend is what nodes did in the last hour, and in the hour before: see client.Figures. The last hour ends some minutes ago, and has 50 to
// 60 minutes; Growth takes that into account.
type IncidentTrend struct {
	From      time.Time    `json:"from"` // of the last hour
	Until     time.Time    `json:"until"`
	Started   IncidentRate `json:"started"` // instances
	Completed IncidentRate `json:"completed"`
	Failed    IncidentRate `json:"failed"`
	Retried   IncidentRate `json:"retried"` // attempts of activities
}

// IncidentChanges is what changed within a day: versions of the code, nodes, pauses, and acts of people.
type IncidentChanges struct {
	Since time.Time            `json:"since"`
	Items []client.FiguresMark `json:"items"` // at most 20, the newest first
	More  int                  `json:"more,omitempty"`
}

// IncidentFailures are the groups that have failed within a day, those with the most failures in the last hour first.
type IncidentFailures struct {
	Items []IncidentGroup `json:"items"` // at most 10
	More  int             `json:"more,omitempty"`
	// AtLeast says that only the newest 5,000 failed instances were looked at: groups may be missing, counts higher and First earlier.
	AtLeast bool `json:"atLeast,omitempty"`
}

// IncidentGroup is a group of failures with its last two hours.
type IncidentGroup struct {
	client.FailureGroup

	Recent IncidentRate `json:"recent"` // instances that failed so in the last hour, and in the hour before
}

// IncidentRetries are the activities that are tried again.
type IncidentRetries struct {
	Instances client.Counted  `json:"instances"`
	Items     []IncidentRetry `json:"items"` // at most 10, the most frequent first
	More      int             `json:"more,omitempty"`
	Looked    int             `json:"looked"`            // activities that were looked at
	AtLeast   bool            `json:"atLeast,omitempty"` // there may be more than these
}

// IncidentRetry is an activity of which calls are tried again.
type IncidentRetry struct {
	Activity string          `json:"activity"`
	Queue    string          `json:"queue"`
	Count    int64           `json:"count"`             // calls
	Attempt  int64           `json:"attempt"`           // the highest
	Since    time.Time       `json:"since"`             // the earliest: see client.ListedActivity
	Next     time.Time       `json:"next,omitzero"`     // when the next attempt may begin; zero: none is planned
	Failure  *client.Failure `json:"failure,omitempty"` // of the call that is tried the longest; nil: its attempt was lost with its node
}

// IncidentBlocks are blocked instances.
type IncidentBlocks struct {
	Instances client.Counted  `json:"instances"`
	Items     []IncidentBlock `json:"items"` // at most 10, the most frequent first
	More      int             `json:"more,omitempty"`
	Looked    int             `json:"looked"`            // instances that were looked at, the newest
	AtLeast   bool            `json:"atLeast,omitempty"` // there may be more than these
}

// IncidentBlock are instances of one orchestration and version that are blocked for one reason.
type IncidentBlock struct {
	Reason        string          `json:"reason"` // such as nondeterminism: see client.Blocked
	Orchestration string          `json:"orchestration"`
	CodeVersion   string          `json:"codeVersion,omitempty"`
	Count         int64           `json:"count"`
	Since         time.Time       `json:"since"` // the earliest
	ID            string          `json:"id"`    // of the newest instance
	Key           provider.UUID   `json:"key"`
	Blocked       *client.Blocked `json:"example"` // of that one

	running int64 // of Count; the others are suspended
}

// IncidentNoNode are instances that wait for code that no node has.
type IncidentNoNode struct {
	Items []VersionUse `json:"items"` // at most 10, the most frequent first: see VersionUse.NoNode
	More  int          `json:"more,omitempty"`
}

// IncidentQueues are the queues that are paused, and those in which activities wait.
type IncidentQueues struct {
	Items []QueueInfo `json:"items"` // at most 10: paused ones first, then by how long the oldest activity waits
	More  int         `json:"more,omitempty"`
}

// IncidentPeople are instances that wait for people: see orchestration.Waiting. If Instances is not exact, only the newest instances were looked at,
// so that an older one may wait longer than those of Items.
type IncidentPeople struct {
	Instances client.Counted `json:"instances"`       // up to 1,000
	Oldest    time.Time      `json:"oldest,omitzero"` // since when the first one of Instances waits; zero: none does
	Items     []IncidentWait `json:"items"`           // at most 5 of Instances, those that wait the longest
}

// IncidentWait is an instance that waits for people.
type IncidentWait struct {
	ID            string             `json:"id"`
	Key           provider.UUID      `json:"key"`
	Orchestration string             `json:"orchestration"`
	Since         time.Time          `json:"since"`
	Waiting       *client.WaitingFor `json:"waiting,omitempty"` // nil: it has ended its wait meanwhile, or the text cannot be read

	created time.Time
}

// IncidentNodes are the nodes of the store.
type IncidentNodes struct {
	Running  int      `json:"running"`
	Draining []string `json:"draining,omitempty"` // or drained; owners
	Lost     []string `json:"lost,omitempty"`     // within the last hour; owners
}

// IncidentVerb is what a suggested act does.
type IncidentVerb string

// The verbs.
const (
	IncidentPause   IncidentVerb = "pause-queue"
	IncidentResume  IncidentVerb = "resume-queue"
	IncidentSuspend IncidentVerb = "suspend" // a bulk job that suspends what is blocked, or runs, of an orchestration
	IncidentLook    IncidentVerb = "look"    // no act of perdure stops it: the command shows more
)

// IncidentAct is an act that would stop a part of what goes wrong. Nothing has been done.
type IncidentAct struct {
	Verb      IncidentVerb `json:"verb"`
	Why       string       `json:"why"`               // in words, without texts of errors
	Command   string       `json:"command"`           // of the shell, without the flag --db
	Instances int64        `json:"instances"`         // how many the trouble hits; calls, if it is a queue that retries
	AtLeast   bool         `json:"atLeast,omitempty"` // Instances is a lower bound
	// What it acts on: a queue, or instances.
	Queue         string `json:"queue,omitempty"`
	Orchestration string `json:"orchestration,omitempty"`
	Blocked       bool   `json:"blocked,omitempty"` // only blocked instances
	// Group is the group of failures that suggests the act. Who may not see groups may not see the act either.
	Group string `json:"group,omitempty"`
}
