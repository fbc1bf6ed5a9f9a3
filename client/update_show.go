package client

import (
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

// showUpdate lists an update, unless it has an outcome or the instance has ended.
func (d *Description) showUpdate(data []byte) {
	s, err := history.DecodeUpdateState(data)
	if err != nil || s.Over() || d.Status.Ended() {
		return
	}
	u := PendingUpdate{ID: s.ID, Name: s.Name, Stage: UpdateAccepted, Since: provider.Time(s.At).Std()}
	if s.Outcome == history.UpdatePending {
		u.Stage = UpdatePending
	}
	d.Updates = append(d.Updates, u)
}
