package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/provider"
)

// ScheduleDescription is what a schedule shows. Times are UTC by the storage's clock; the zero time means none.
type ScheduleDescription struct {
	ID            string           `json:"id"`
	Key           provider.UUID    `json:"key"` // of the instance that runs it
	Orchestration string           `json:"orchestration"`
	CodeVersion   string           `json:"codeVersion,omitempty"` // of the runs; "" with Newest: the newest that a node has
	Newest        bool             `json:"newest,omitempty"`
	Spec          ScheduleSpec     `json:"spec"`
	Revision      int64            `json:"revision"`            // grows with each change; 0: no node has run the schedule yet
	Principal     string           `json:"principal,omitempty"` // who made it; "" for the service itself
	CreatedAt     time.Time        `json:"createdAt"`
	Paused        bool             `json:"paused,omitempty"`
	Note          string           `json:"note,omitempty"`   // on the last pause or resume
	Done          bool             `json:"done,omitempty"`   // no start will come: the limit is reached, or the specification has ended
	Next          []ScheduledTime  `json:"next,omitempty"`   // the next five, unless it is paused or done
	Waiting       time.Time        `json:"waiting,omitzero"` // due time of the run that starts when the one before has ended
	Backfills     int              `json:"backfills,omitempty"`
	Running       []ScheduleRun    `json:"running,omitempty"` // the first 20
	Runs          int              `json:"runs"`              // how many go on
	Ended         []ScheduleRun    `json:"ended,omitempty"`   // the last ten, newest first
	Started       int64            `json:"started"`
	Failed        int64            `json:"failed"`
	FailedInARow  int              `json:"failedInARow"`
	Skips         map[string]int64 `json:"skips,omitempty"`    // due times without a run, by reason
	Skipped       []ScheduleSkip   `json:"skipped,omitempty"`  // the last ten, newest first
	LookedAt      time.Time        `json:"lookedAt,omitzero"`  // when it last looked at its times
	NoNode        bool             `json:"noNode,omitempty"`   // no node runs schedules; Describe only
	Findings      []string         `json:"findings,omitempty"` // what keeps it from doing its work
}

// ScheduleRun is an instance that a schedule has started.
type ScheduleRun struct {
	ID        string    `json:"id"`
	Key       string    `json:"key"`
	Due       time.Time `json:"due"`
	StartedAt time.Time `json:"startedAt"`
	Blocked   int       `json:"blocked,omitempty"` // due times that were skipped or held up because it goes on
	Status    string    `json:"status,omitempty"`  // of an ended one: a Status, or Deleted
}

// ScheduleSkip is a due time without a run. The reasons are running, limit, waiting, suspended, id-in-use, missed, forbidden, refused and
// paused.
type ScheduleSkip struct {
	Due    time.Time `json:"due"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail,omitempty"`
	Count  int64     `json:"count,omitempty"` // of due times, if more than one; Due is the last of them
}

func runOf(r *form.Run) ScheduleRun {
	return ScheduleRun{ID: r.ID, Key: r.Key, Due: r.Due, StartedAt: r.Started, Blocked: r.Blocked, Status: r.Status}
}

// beginTime is how long Describe waits for a node to run a new schedule.
const beginTime = 5 * time.Second

// Describe returns what the schedule shows, by one indexed read and one of the list of nodes. It is as old as the last turn of the schedule that
// was stored. Directly after the creation it waits for a node to run the schedule, for up to five seconds. If none has, Revision is 0, the
// specification is not known, and Findings say so.
//
// Errors: ErrNotFound, ErrInvalid, or the error of ctx.
func (s Schedule) Describe(ctx context.Context) (ScheduleDescription, error) {
	row, err := s.begun(ctx, "describing "+scheduleName(s.id), beginTime)
	if err != nil {
		return ScheduleDescription{}, err
	}
	d := row.describe()
	if none, err := s.c.noScheduler(ctx); none && err == nil {
		d.NoNode = true
		d.Findings = append(d.Findings, "no node of the store runs schedules: start one")
	}
	return d, nil
}

func (v *scheduleRow) describe() ScheduleDescription {
	s := &v.view
	d := ScheduleDescription{
		ID: s.ID, Key: v.key, Orchestration: s.Action.Orchestration, CodeVersion: s.Action.Version, Newest: s.Action.Newest, Spec: specOf(&s.Spec),
		Revision: s.Revision, CreatedAt: v.created, Paused: s.Paused, Note: s.Note, Done: s.Done,
		Backfills: len(s.Backfills), Runs: s.Runs, Started: s.Counts.Started, Failed: s.Counts.Failed, FailedInARow: s.Counts.InARow,
		Skips: s.Counts.Skipped, LookedAt: s.Looked,
	}
	if s.Principal != nil {
		d.Principal = s.Principal.Name
	}
	if s.Waiting != nil {
		d.Waiting = s.Waiting.Due
	}
	if !s.Paused && !s.Done {
		for _, n := range s.Next {
			d.Next = append(d.Next, ScheduledTime{Due: n.Time, At: n.At})
		}
	}
	for i := range s.Running {
		d.Running = append(d.Running, runOf(&s.Running[i]))
	}
	for i := range s.State.Ended {
		d.Ended = append(d.Ended, runOf(&s.State.Ended[i]))
	}
	for _, k := range s.Skipped {
		d.Skipped = append(d.Skipped, ScheduleSkip{Due: k.Due, Reason: k.Reason, Detail: k.Detail, Count: k.Count})
	}
	d.Findings = s.Findings()
	if s.Revision == 0 {
		d.Findings = append(d.Findings, "no node has run it since it was created, so its specification is not known yet")
	}
	if v.blocked != nil {
		d.Findings = append(d.Findings, fmt.Sprintf("it is blocked (%s): %s", v.blocked.Reason, v.blocked.Message))
	}
	return d
}

// SchedulePage is a page of the schedules. Cursor is "" on the last one.
type SchedulePage struct {
	Items  []ScheduleDescription `json:"items"`
	Cursor string                `json:"cursor,omitempty"`
}

// Schedules returns a page of the schedules whose IDs begin with a prefix, the newest first; "" for all. Each item costs a read.
func (c *Client) Schedules(ctx context.Context, prefix string, page Page) (SchedulePage, error) {
	const op = "listing schedules"
	if err := c.usable(ctx); err != nil {
		return SchedulePage{}, fmt.Errorf("%s: %w", op, err)
	}
	list, err := c.List(ctx, Filter{
		IDPrefix: reserved.SchedulePrefix + prefix, Orchestration: reserved.Schedule, Statuses: []Status{StatusRunning, StatusSuspended},
	}, page)
	if err != nil {
		return SchedulePage{}, fmt.Errorf("%s: %w", op, err)
	}
	found := SchedulePage{Items: make([]ScheduleDescription, 0, len(list.Items)), Cursor: list.Cursor}
	for i := range list.Items {
		row, err := c.scheduleRow(ctx, op, provider.GetRequest{Key: list.Items[i].Key})
		if errors.Is(err, ErrNotFound) {
			continue // deleted since
		}
		if err != nil {
			return SchedulePage{}, err
		}
		found.Items = append(found.Items, row.describe())
	}
	return found, nil
}
