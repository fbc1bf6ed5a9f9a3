package task

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// sealedIn returns the error of what stands beside the input of a task and could not be opened; nil: nothing.
func sealedIn(task *provider.LeasedTask) error {
	if err := history.SealedIn(task.Details); err != nil {
		return err
	}
	return history.SealedIn(task.Failure)
}
