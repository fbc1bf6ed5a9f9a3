package client

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// PendingUpdate is an update that an instance has taken and that has no outcome yet.
type PendingUpdate struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Stage UpdateStage `json:"stage"`
	Since time.Time   `json:"since"` // when the instance took it
}

// UpdateStage is how far an update is.
type UpdateStage string

// The stages of a pending update. One that still waits in the inbox is not listed.
const (
	UpdatePending  UpdateStage = "Pending"  // the code has not begun, or has not registered the handler
	UpdateAccepted UpdateStage = "Accepted" // the handler runs, or waits for its turn
)

// describeUpdate returns an update, unless it has an outcome.
func describeUpdate(data []byte) (u PendingUpdate, pending bool) {
	s, err := history.DecodeUpdateState(data)
	if err != nil || s.Over() {
		return u, false
	}
	u = PendingUpdate{ID: s.ID, Name: s.Name, Stage: UpdateAccepted, Since: provider.Time(s.At).Std()}
	if s.Outcome == history.UpdatePending {
		u.Stage = UpdatePending
	}
	return u, true
}

// over reports whether a stored update has an outcome.
func over(data []byte) bool {
	s, err := history.DecodeUpdateState(data)
	return err == nil && s.Over()
}

// updateStage names a stage or an outcome of an update.
func updateStage(outcome int64) string {
	names := map[int64]string{
		history.UpdatePending: "pending", history.UpdateRunning: "accepted", history.UpdateDone: "completed", history.UpdateFailed: "failed",
		history.UpdateRefused: "rejected", history.UpdateUnknown: "unknown", history.UpdatePanicked: "panicked", history.UpdateEnded: "ended",
		history.UpdateClosing: "closing", history.UpdateAbandoned: "abandoned", history.UpdateGone: "gone",
		history.UpdateDiscarded: "discarded", history.UpdateNotCarried: "not carried",
	}
	if name, ok := names[outcome]; ok {
		return name
	}
	return fmt.Sprintf("outcome %d", outcome)
}
