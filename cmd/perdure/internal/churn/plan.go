package churn

import (
	"errors"

	"github.com/perdure/perdure/runtime"
)

// WordEvent is the event of which each round of Run receives one.
const WordEvent = "word"

// NeverEvent is an event that nobody sends.
const NeverEvent = "never"

// End is how a plan ends.
type End string

// The ends. A plan that waits is cancelled or terminated from outside.
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
	Parts    int    `json:"parts,omitempty"`    // of a haul
}

// Answer is the output of an activity.
type Answer struct {
	Value    uint64 `json:"value"`
	Delivery int    `json:"delivery"` // the one whose result counted
}

// ErrBroken is how a plan ends that ends broken.
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
