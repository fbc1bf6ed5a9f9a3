package churn

import (
	"errors"

	"github.com/perdure/perdure/runtime"
)

// WordEvent is the name of an event. Each round of Run receives one.
const WordEvent = "word"

// NeverEvent is the name of an event that is never sent.
const NeverEvent = "never"

// BonusUpdate is the name of an update. It calls an activity with the step StepBonus and the number that it gets.
const BonusUpdate = "bonus"

// StepBonus is the step of the activity of the first bonus.
const StepBonus = 500

// SumQuery is the name of a query. It returns the sum so far.
const SumQuery = "sum"

// End is how a plan ends.
type End string

// The ends. A plan with EndWaits is cancelled or terminated by a client.
const (
	EndWell   End = ""
	EndBroken End = "broken"
	EndWaits  End = "waits"
)

// Plan is the input of [Run].
type Plan struct {
	Seed   uint64 `json:"seed"`
	Rounds int    `json:"rounds"`         // executions in all, by continue-as-new
	Steps  int    `json:"steps"`          // sequential activities of a round
	Width  int    `json:"width"`          // parallel activities of a round
	Haul   int    `json:"haul,omitempty"` // parts of a long activity of the first round
	End    End    `json:"end,omitempty"`
	Round  int    `json:"round"`
	Sum    uint64 `json:"sum"` // of earlier rounds
}

// Call is the input of an activity.
type Call struct {
	Seed     uint64 `json:"seed"`
	Round    int    `json:"round"`
	Step     int    `json:"step"`
	Failures int    `json:"failures,omitempty"` // attempts that fail first
	Parts    int    `json:"parts,omitempty"`    // parts of a haul
}

// Answer is the output of an activity.
type Answer struct {
	Value    uint64 `json:"value"`
	Delivery int    `json:"delivery"` // the delivery whose result counted
}

// ErrBroken is the error of a plan with EndBroken.
var ErrBroken = errors.New("broken on purpose")

// Register adds the workload to a registry. Its activities write to log.
func Register(reg *runtime.Registry, log Log) error {
	return errors.Join(
		runtime.AddError(reg, "churn.broken", ErrBroken),
		runtime.AddOrchestration(reg, Run),
		runtime.AddOrchestration(reg, Leaf),
		runtime.AddOrchestration(reg, Broken),
		runtime.AddOrchestration(reg, Linger),
		runtime.AddActivity(reg, logged(log, mixName, mix)),
		runtime.AddActivity(reg, logged(log, haulName, haul)),
		runtime.AddActivity(reg, logged(log, breakName, fail)),
	)
}
