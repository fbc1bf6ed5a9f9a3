package client

import (
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/provider"
)

// Attempt is one attempt of an activity that has ended. An attempt that was lost with its node is not listed: it was delivered
// again.
type Attempt struct {
	Number  int64     `json:"number"`
	Node    string    `json:"node,omitempty"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Failure string    `json:"failure,omitempty"` // the beginning of why it failed; "" if it did not
}

func describeAttempts(list []history.Attempt) []Attempt {
	if len(list) == 0 {
		return nil
	}
	shown := make([]Attempt, 0, len(list))
	for i := range list {
		a := &list[i]
		shown = append(shown, Attempt{
			Number: a.Number, Node: a.Node, Began: provider.Time(a.Began).Std(), Ended: provider.Time(a.Ended).Std(), Failure: a.Failure,
		})
	}
	return shown
}

// HeartbeatDetails returns the details that a pending activity reported last with activity.Heartbeat. ok is false if none
// are stored yet. An error means that it cannot be decoded into T.
func HeartbeatDetails[T any](a *Activity) (details T, ok bool, err error) {
	if a == nil || a.Heartbeat == nil {
		return details, false, nil
	}
	if err := payload.Decode(a.Heartbeat, &details); err != nil {
		return details, false, failure.New(failure.ErrPayload, "heartbeat details of activity %s: %v: ask for the type that it reports", a.Name, err)
	}
	return details, true, nil
}
