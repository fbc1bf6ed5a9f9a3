package client

import "github.com/perdure/perdure/provider"

// Status is the state of an instance or of one of its executions.
type Status string

// The statuses. ContinuedAsNew and Reset are statuses of executions only.
const (
	StatusRunning        Status = "Running"
	StatusSuspended      Status = "Suspended"
	StatusCompleted      Status = "Completed"
	StatusFailed         Status = "Failed"
	StatusCancelled      Status = "Cancelled"
	StatusTerminated     Status = "Terminated"
	StatusContinuedAsNew Status = "ContinuedAsNew"
	StatusReset          Status = "Reset"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool {
	known, _ := provider.ParseStatus(string(s))
	return known.Ended()
}
