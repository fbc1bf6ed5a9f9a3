// Package retention has the forms that package operate and the orchestration of retention share. Releases that run side by side share them, too,
// so fields are only ever added.
package retention

import (
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// Space is the namespace of the record that has the rules.
	Space = "perdure"
	// Record is the key of that record.
	Record = "retention"
	// Control is the event that wakes the orchestration.
	Control = "control"
	// ValueKey is the key-value that shows the View.
	ValueKey = "retention"
	// Step is the activity, without its reserved prefix.
	Step = "retention.step"
	// Every is how often a round begins.
	Every = time.Hour
	// StepTime is how long a step works before it returns.
	StepTime = 30 * time.Second
)

// Forever is the age of a rule whose instances stay.
const Forever time.Duration = -1

// Rule says how long ended instances stay.
type Rule struct {
	Names    []string          `json:"names,omitempty"`    // of orchestrations; none: all that no earlier rule names
	Statuses []provider.Status `json:"statuses,omitempty"` // of ended instances; none: all
	Age      time.Duration     `json:"age"`                // since the end; Forever
}

// Trim says how long the histories of old executions stay.
type Trim struct {
	Age  time.Duration `json:"age"`
	Keep int           `json:"keep"`
}

// Rules are all that a store keeps and removes.
type Rules struct {
	Rules []Rule        `json:"rules,omitempty"` // an instance falls under the first one that matches it
	Trim  *Trim         `json:"trim,omitempty"`
	Audit time.Duration `json:"audit,omitempty"` // age of audit records; 0: they stay
	Batch int           `json:"batch"`           // instances in one step of the storage
	Rate  float64       `json:"rate"`            // instances a second, at most
	By    string        `json:"by,omitempty"`    // the principal who set them; "": code
}

// Off reports whether nothing is removed.
func (r *Rules) Off() bool { return len(r.Rules) == 0 && r.Trim == nil && r.Audit == 0 }

// Cut is one kind of instances to prune.
type Cut struct {
	Names    []string
	Except   []string
	Statuses []provider.Status
	Age      time.Duration
}

// Cuts returns what the rules remove. No instance is in two of them.
func (r *Rules) Cuts() (cuts []Cut) {
	for _, one := range r.cuts() {
		cuts = add(cuts, one.Cut)
	}
	return cuts
}

// CutsOf returns what one of the rules removes: what it matches and no earlier one does. No instance is in two of the cuts.
func (r *Rules) CutsOf(rule int) (cuts []Cut) {
	for _, one := range r.cuts() {
		if one.rule == rule {
			cuts = add(cuts, one.Cut)
		}
	}
	return cuts
}

// ruleCut is what a rule removes of one status.
type ruleCut struct {
	Cut

	rule int
}

func (r *Rules) cuts() (cuts []ruleCut) {
	for s := provider.StatusCompleted; s <= provider.StatusTerminated; s++ {
		var claimed []string
		for n, rule := range r.Rules {
			if len(rule.Statuses) > 0 && !slices.Contains(rule.Statuses, s) {
				continue
			}
			cut := Cut{Statuses: []provider.Status{s}, Age: rule.Age}
			if len(rule.Names) == 0 {
				cut.Except = slices.Clone(claimed)
			} else if cut.Names = without(rule.Names, claimed); len(cut.Names) == 0 {
				continue
			}
			claimed = append(claimed, rule.Names...)
			if rule.Age != Forever {
				cuts = append(cuts, ruleCut{cut, n})
			}
			if len(rule.Names) == 0 {
				break
			}
		}
	}
	return cuts
}

// add joins cuts that differ in the status only.
func add(cuts []Cut, cut Cut) []Cut {
	for i := range cuts {
		if cuts[i].Age == cut.Age && slices.Equal(cuts[i].Names, cut.Names) && slices.Equal(cuts[i].Except, cut.Except) {
			cuts[i].Statuses = append(cuts[i].Statuses, cut.Statuses...)
			return cuts
		}
	}
	return append(cuts, cut)
}

func without(names, claimed []string) (left []string) {
	for _, name := range names {
		if !slices.Contains(claimed, name) && !slices.Contains(left, name) {
			left = append(left, name)
		}
	}
	return left
}

// Removed counts what a round has removed.
type Removed struct {
	Instances  int64 `json:"instances"`
	Executions int64 `json:"executions"`
	Audit      int64 `json:"audit"`
	Freed      int64 `json:"freed"` // bytes
}

// Plus returns the sum.
func (r Removed) Plus(o Removed) Removed {
	return Removed{r.Instances + o.Instances, r.Executions + o.Executions, r.Audit + o.Audit, r.Freed + o.Freed}
}

// Position is how far a round has come.
type Position struct {
	Part   int    `json:"part"` // the cut, and behind the last one: trim, audit, space
	Cursor string `json:"cursor,omitempty"`
}

// StepRequest asks for the next part of a round.
type StepRequest struct {
	From Position `json:"from"`
}

// Stepped is what a step did, also the heartbeat of a step in progress.
type Stepped struct {
	Removed

	To   Position `json:"to"`
	Over bool     `json:"over,omitempty"` // the round is
	Off  bool     `json:"off,omitempty"`  // there are no rules
	// Plan is what the step removes next. It is stored before that, so that an attempt that finds a plan counts what the lost one has
	// removed of it.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is what one call of the store removes. It has only one of the lists.
type Plan struct {
	Trees      []Tree      `json:"trees,omitempty"`
	Executions []Execution `json:"executions,omitempty"`
	Records    []string    `json:"records,omitempty"` // keys of the audit
}

// Tree is an instance, and how many instances go with it.
type Tree struct {
	Key       provider.UUID `json:"key"`
	Instances int64         `json:"instances"`
}

// Execution is an old execution of an instance.
type Execution struct {
	Key       provider.UUID `json:"key"`
	Execution int64         `json:"execution"`
}

// State is the input of an execution.
type State struct {
	Last   View      `json:"last"`
	NextAt time.Time `json:"nextAt,omitzero"`
}

// View is what retention shows: the last round.
type View struct {
	Removed

	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"` // zero while the round goes on
	Rounds  int64     `json:"rounds"`
	Problem string    `json:"problem,omitempty"`
}
