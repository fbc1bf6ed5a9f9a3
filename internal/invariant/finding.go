package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Rule names a promise that is broken.
type Rule string

// The rules.
const (
	// MissingOutcome: an instance has ended without a readable outcome, or its outcome, status and history disagree,
	// or only its history has ended.
	MissingOutcome Rule = "missing-outcome"
	// UnexpectedOutcome: the outcome fails Options.Expect.
	UnexpectedOutcome Rule = "unexpected-outcome"
	// Stuck: an instance waits for something that no task, timer, message or child can ever bring.
	Stuck Rule = "stuck"
	// EventGap: the events of an execution are not 1, 2, ... n, or not those that the row counts.
	EventGap Rule = "event-gap"
	// UndecodableEvent: an event cannot be read.
	UndecodableEvent Rule = "undecodable-event"
	// ResultObservedTwice: a second result for one event, a result for an event that awaits none, or a
	// request ID that was consumed before.
	ResultObservedTwice Rule = "result-observed-twice"
	// Leftover: an ended execution or a settled event has left a task, timer or message behind.
	Leftover Rule = "leftover"
	// Orphan: rows of a key that is gone, or a child of one.
	Orphan Rule = "orphan"
	// DeadLease: a lease that is not over is held by an owner that does not live.
	DeadLease Rule = "dead-lease"
	// ReadyTime: the ready time or the message count of an instance is not that of its inbox.
	ReadyTime Rule = "ready-time"
	// ParentChild: parent and child say different things about each other.
	ParentChild Rule = "parent-child"
	// MissingName: an instance that runs has lost the name of its orchestration, so no node fetches it.
	MissingName Rule = "missing-name"
	// ReservedID: an instance of a service has an ID that belongs to perdure itself.
	ReservedID Rule = "reserved-id"
	// UnreadableRow: a row cannot be read.
	UnreadableRow Rule = "unreadable-row"
)

// Rules lists them all.
func Rules() []Rule {
	return []Rule{
		MissingOutcome, UnexpectedOutcome, Stuck, EventGap, UndecodableEvent, ResultObservedTwice, Leftover, Orphan,
		DeadLease, ReadyTime, ParentChild, MissingName, ReservedID, UnreadableRow,
	}
}

// Finding is one broken promise.
type Finding struct {
	Rule       Rule
	InstanceID string // "" where only the key is known
	Key        provider.UUID
	Execution  int64 // 0: concerns no single one
	EventID    int64 // 0: concerns no single one
	Detail     string
}

// String returns all of it in one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.Rule)
	if f.InstanceID != "" {
		fmt.Fprintf(&b, "instance %q, ", f.InstanceID)
	}
	fmt.Fprintf(&b, "key %s", f.Key)
	if f.Execution > 0 {
		fmt.Fprintf(&b, ", execution %d", f.Execution)
	}
	if f.EventID > 0 {
		fmt.Fprintf(&b, ", event %d", f.EventID)
	}
	fmt.Fprintf(&b, ": %s", f.Detail)
	return b.String()
}

// same reports whether two checks found the same thing.
func (f Finding) same(o Finding) bool {
	return f.Rule == o.Rule && f.Key == o.Key && f.Execution == o.Execution && f.EventID == o.EventID
}

// Report lists the findings of Check and counts its work.
type Report struct {
	Findings   []Finding
	Instances  int64
	Executions int64
	Events     int64
	Skipped    []string // the parts that could not be checked, and why
}

// Bounds of a report. A longer report is of no use.
const (
	maxFindings    = 10_000
	maxPerInstance = 100
	maxSkipped     = 100
)

func (r *Report) add(found []Finding) {
	for _, f := range found {
		if len(r.Findings) == maxFindings {
			r.skip(fmt.Sprintf("more than the first %d findings", maxFindings))
			return
		}
		r.Findings = append(r.Findings, f)
	}
}

// skip notes an omission once.
func (r *Report) skip(what string) {
	if len(r.Skipped) < maxSkipped && !slices.Contains(r.Skipped, what) {
		r.Skipped = append(r.Skipped, what)
	}
}

func (l *instanceCheck) addf(rule Rule, execution, event int64, format string, args ...any) {
	if len(l.found) < maxPerInstance {
		l.found = append(l.found, Finding{
			Rule: rule, InstanceID: l.in.ID, Key: l.in.Key, Execution: execution, EventID: event, Detail: fmt.Sprintf(format, args...),
		})
	}
}

func (l *instanceCheck) fault(f provider.RowFault) { l.addf(UnreadableRow, 0, 0, "%s", f.Reason) }
