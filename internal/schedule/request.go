package schedule

import "time"

// Pause is the input of the updates pause and resume.
type Pause struct {
	Note string `json:"note,omitempty"`
}

// Trigger is the input of the update trigger. Update is the ID of the update, which ends the ID of the run.
type Trigger struct {
	Update string `json:"update"`
}

// Triggered is the output of the update trigger. Reason is "" if the run was started.
type Triggered struct {
	Run    Run       `json:"run"`
	Due    time.Time `json:"due"`
	Reason string    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// Conflict is the error of the update change for another revision.
const Conflict = "the schedule was changed in the meantime"

// Change is the input of the update change. It applies to one revision only, unless that is 0.
type Change struct {
	Revision  int64      `json:"revision,omitempty"`
	Spec      Spec       `json:"spec"`
	Action    *Action    `json:"action,omitempty"`    // nil: as it is
	Principal *Principal `json:"principal,omitempty"` // who changes the action; nil: the service itself
}

// CheckRequest is the input of the activity that checks the times and the runs.
type CheckRequest struct {
	ID        string     `json:"id"`
	Spec      Spec       `json:"spec"`
	Action    Action     `json:"action"` // without the input
	Principal *Principal `json:"principal,omitempty"`
	After     time.Time  `json:"after"`              // zero at first: the check begins at the creation
	Key       string     `json:"key,omitempty"`      // of the schedule, while After is zero
	Jittered  *Progress  `json:"jittered,omitempty"` // see State
	Now       time.Time  `json:"now"`
	Idle      bool       `json:"idle,omitempty"` // no start is due: paused or done
	Running   []string   `json:"running,omitempty"`
	Backfill  *Backfill  `json:"backfill,omitempty"`
}

// CheckResult is its output.
type CheckResult struct {
	Created  time.Time         `json:"created,omitzero"` // when the schedule was stored, if CheckRequest.Key asks for it
	Plan     Plan              `json:"plan"`
	Upcoming []Due             `json:"upcoming,omitempty"`
	Runs     map[string]string `json:"runs,omitempty"` // by key: a status, "" if it is gone
	Backfill []time.Time       `json:"backfill,omitempty"`
	Version  string            `json:"version,omitempty"` // of the code of the runs
	Refused  string            `json:"refused,omitempty"` // why the principal may not start it
	Problem  string            `json:"problem,omitempty"`
	Ahead    Duration          `json:"ahead,omitzero"`
	Newer    bool              `json:"newer,omitempty"` // the schedule may continue in a newer version
}
