package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Description is what is stored about an instance. Times are UTC by the storage's clock; the zero time means none.
type Description struct {
	ID            string          `json:"id"`
	Key           provider.UUID   `json:"key"`
	Orchestration string          `json:"orchestration"`
	CodeVersion   string          `json:"codeVersion,omitempty"`
	Status        Status          `json:"status"`
	Blocked       *Blocked        `json:"blocked,omitempty"`  // nil: not blocked
	Deleting      bool            `json:"deleting,omitempty"` // a deletion has begun
	Sealed        *Sealed         `json:"sealed,omitempty"`   // it moves to another store, or from one; nil: it does not, or has moved and runs
	Execution     int64           `json:"execution"`          // the current one, from 1
	HistoryLength int64           `json:"historyLength"`      // events of the current execution
	HistoryBytes  int64           `json:"historyBytes"`
	EngineLevel   int64           `json:"engineLevel"`           // the least level of a node that may run it
	NoNode        bool            `json:"noNode,omitempty"`      // it waits: EngineLevel is above that of all nodes that run, and one runs; Describe only
	InboxMessages int64           `json:"inboxMessages"`         // timers, too
	DeadLetters   int64           `json:"deadLetters,omitempty"` // messages and activities set aside; Describe only
	Deliveries    int64           `json:"deliveries"`            // turns begun since the last one that was stored
	Parent        *Parent         `json:"parent,omitempty"`      // nil: none
	RequestID     string          `json:"requestId,omitempty"`
	CreatedAt     time.Time       `json:"createdAt"`
	UpdatedAt     time.Time       `json:"updatedAt"`
	EndedAt       time.Time       `json:"endedAt,omitzero"`
	ReadyAt       time.Time       `json:"readyAt,omitzero"`       // when the earliest message is due
	Result        json.RawMessage `json:"result,omitempty"`       // the output, when Completed
	Failure       *Failure        `json:"failure,omitempty"`      // when it ended in another way
	Excerpt       *Excerpt        `json:"excerpt,omitempty"`      // of a Failed one; nil: not known, as of what an older release has closed: Describe has Failure
	FailureGroup  string          `json:"failureGroup,omitempty"` // as Excerpt: see Client.FailureGroups
	Unreadable    string          `json:"unreadable,omitempty"`   // why Result and Failure cannot be shown
	Activities    []Activity      `json:"activities,omitempty"`   // pending ones; Describe only
	CustomStatus  json.RawMessage `json:"customStatus,omitempty"` // that code has set with SetStatus; see StatusOf
	NotStored     string          `json:"notStored,omitempty"`    // why the status that code has set last could not be stored
	Attributes    map[string]any  `json:"attributes,omitempty"`   // string, int64, bool or time.Time
	Waiting       *WaitingFor     `json:"waiting,omitempty"`      // nil: it waits with no text for people; lists have it only with Filter.Waiting
	Limit         *TimeLimit      `json:"limit,omitempty"`        // nil: none, or a list without attributes
	Keys          []string        `json:"keys,omitempty"`         // of Value, in order; Describe only
	Closing       *Closing        `json:"closing,omitempty"`      // nil: its function has not returned; Describe only
	Unread        map[string]int  `json:"unread,omitempty"`       // of an ended one: events that nobody took, by name; Describe only
	Updates       []PendingUpdate `json:"updates,omitempty"`      // without an outcome, the oldest first; Describe only
	Waits         []Wait          `json:"waits,omitempty"`        // what it waits for; Describe only
	AsOf          time.Time       `json:"asOf"`                   // when this was read
}

// Blocked says why an instance cannot make a turn.
type Blocked struct {
	Reason  string    `json:"reason"`  // short and machine-readable, such as "panic"
	Message string    `json:"message"` // the last error in full
	Count   int64     `json:"count"`   // failed turns in a row
	Since   time.Time `json:"since"`
	RetryAt time.Time `json:"retryAt,omitzero"` // zero: held until it is unblocked
}

// Parent names the event of the execution that started a child.
type Parent struct {
	ID        string        `json:"id"`
	Key       provider.UUID `json:"key"`
	Execution int64         `json:"execution"`
	EventID   int64         `json:"eventId"`
}

// Activity is a pending activity.
type Activity struct {
	EventID     int64           `json:"eventId"` // of the event that scheduled it
	Name        string          `json:"name"`
	Queue       string          `json:"queue"`
	Priority    int             `json:"priority"` // 1 (first) to 5
	FairnessKey string          `json:"fairnessKey,omitempty"`
	Session     string          `json:"session,omitempty"`
	State       ActivityState   `json:"state"`
	Attempt     int64           `json:"attempt"`              // from 1
	Deliveries  int64           `json:"deliveries,omitempty"` // leases of this attempt
	Owner       string          `json:"owner,omitempty"`      // the node that runs it
	LeaseUntil  time.Time       `json:"leaseUntil,omitzero"`
	ScheduledAt time.Time       `json:"scheduledAt"`
	NotBefore   time.Time       `json:"notBefore,omitzero"` // when the attempt may begin
	StartBy     time.Time       `json:"startBy,omitzero"`   // deadline of an attempt that has not begun, or of a parked one
	Deadline    time.Time       `json:"deadline,omitzero"`
	Heartbeat   json.RawMessage `json:"heartbeat,omitempty"`
	Failure     *Failure        `json:"failure,omitempty"`  // of the last attempt
	NotBegun    *NotBegun       `json:"notBegun,omitempty"` // why it waits, if it could run now; nil if the store lists no nodes
	Attempts    []Attempt       `json:"attempts,omitempty"` // the last ones that have ended, at most ten, the oldest first
}

// ActivityState is where a pending activity is.
type ActivityState string

// The states of a pending activity.
const (
	ActivityQueued  ActivityState = "Queued"  // waits for a node, or for its next attempt
	ActivityRunning ActivityState = "Running" // a node has it
	ActivityParked  ActivityState = "Parked"  // waits to be ended by its token
	ActivityPaused  ActivityState = "Paused"  // waits for PendingActivity.Resume or Retry
)

// Describe returns what is stored about the instance that the ID names now, pending activities included.
func (c *Client) Describe(ctx context.Context, id string) (Description, error) {
	return c.describe(ctx, access.Target{ID: id})
}

func (c *Client) describe(ctx context.Context, t access.Target) (Description, error) {
	op := fmt.Sprintf("describing %s", t)
	if err := c.usable(ctx); err != nil {
		return Description{}, fmt.Errorf("%s: %w", op, err)
	}
	res, err := c.store.Instance(ctx, t, op, true)
	if err != nil {
		return Description{}, err
	}
	d, err := c.described(ctx, op, &res)
	if err != nil {
		return d, err
	}
	d.Waits, err = c.waits(ctx, op, &d)
	return d, err
}

// described returns what was read about an instance, with its tasks and key-values.
func (c *Client) described(ctx context.Context, op string, res *provider.GetResult) (Description, error) {
	d := describe(&res.Instance, res.Now)
	d.showValues(res.Values, d.Status.Ended())
	d.DeadLetters, d.NoNode = res.DeadLetters, c.needsNewerNode(ctx, &res.Instance)
	for i := range res.Tasks {
		d.Activities = append(d.Activities, describeActivity(&res.Tasks[i]))
	}
	if err := c.markSealed(ctx, op, &d); err != nil {
		return d, err
	}
	c.explainActivities(ctx, &d, res.Tasks)
	return d, nil
}

// describe returns all that is stored in the row of an instance.
func describe(i *provider.Instance, now provider.Time) Description {
	d := describeListed(i, now)
	if !i.Status.Ended() {
		return d
	}
	outcome, err := history.DecodeOutcome(i.Result)
	if err != nil {
		d.Unreadable = err.Error()
		return d
	}
	d.Result, d.Failure = rawJSON(outcome.Output), describeFailure(outcome.Failure)
	return d
}

// describeListed returns what a list has of an instance.
func describeListed(i *provider.Instance, now provider.Time) Description {
	d := Description{
		ID: i.ID, Key: i.Key, Orchestration: i.Name, CodeVersion: i.CodeVersion, Status: Status(i.Status.String()),
		Blocked: blocked(i.Blocked), Deleting: i.Deleting, Execution: i.Execution, HistoryLength: i.HistoryLength,
		HistoryBytes: i.HistoryBytes, EngineLevel: i.EngineLevel, InboxMessages: i.InboxMessages, Deliveries: i.Deliveries,
		RequestID: i.RequestID, CreatedAt: i.CreatedAt.Std(), UpdatedAt: i.UpdatedAt.Std(), EndedAt: i.EndedAt.Std(),
		ReadyAt: i.ReadyAt.Std(), AsOf: now.Std(), Excerpt: describeExcerpt(i.Excerpt), FailureGroup: i.FailureGroup,
	}
	d.show(i)
	if p := &i.Parent; !p.Key.IsZero() {
		d.Parent = &Parent{ID: p.ID, Key: p.Key, Execution: p.Execution, EventID: p.EventID}
	}
	return d
}

// show sets what code shows to others.
func (d *Description) show(i *provider.Instance) {
	if why, refused := payload.Refused(i.CustomStatus); refused {
		d.NotStored = why
	} else {
		d.CustomStatus = rawJSON(i.CustomStatus)
	}
	d.Limit = describeLimit(i)
	for j := range i.Attributes {
		if name := i.Attributes[j].Name; name == replay.AttributeWaiting || d.Limit != nil && name == reserved.LimitAttribute {
			continue
		}
		if d.Attributes == nil {
			d.Attributes = make(map[string]any, len(i.Attributes))
		}
		d.Attributes[i.Attributes[j].Name] = bind.AttributeValue(&i.Attributes[j])
	}
}

func blocked(b *provider.Blocked) *Blocked {
	if b == nil {
		return nil
	}
	message := b.Message
	if err := history.SealedIn([]byte(message)); err != nil {
		message = "(" + err.Error() + ")"
	}
	return &Blocked{Reason: b.Reason, Message: message, Count: b.Count, Since: b.Since.Std(), RetryAt: b.RetryAt.Std()}
}

func describeActivity(t *provider.TaskInfo) Activity {
	a := Activity{
		EventID: t.EventID, Name: t.Name, Queue: t.Queue, State: ActivityQueued, Attempt: t.Attempt, Deliveries: t.Deliveries,
		Owner: t.Owner, LeaseUntil: t.LeaseUntil.Std(), ScheduledAt: t.ScheduledAt.Std(), NotBefore: t.NotBefore.Std(),
		StartBy: t.StartBy.Std(), Deadline: t.Deadline.Std(), Heartbeat: rawJSON(t.Details),
		Priority: t.Priority, FairnessKey: t.FairnessKey, Session: t.Session,
	}
	switch t.State {
	case provider.TaskLeased:
		a.State = ActivityRunning
	case provider.TaskParked:
		a.State = ActivityParked
	case provider.TaskQueued:
		if t.NotBefore == provider.HeldUntil {
			a.State, a.NotBefore = ActivityPaused, time.Time{}
		}
	default:
	}
	if len(t.Failure) > 0 {
		r, err := history.DecodeRetried(t.Failure)
		if err != nil {
			r.Failure = history.Failure{Message: "the last failure cannot be read: " + err.Error()}
		}
		a.Failure, a.Attempts = describeFailure(&r.Failure), describeAttempts(r.Attempts)
	}
	return a
}
