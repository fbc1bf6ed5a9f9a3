package client

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Closing is the phase between the return of the orchestration's function and the end of the instance. Its handlers go on; see
// orchestration.HandleEvent.
type Closing struct {
	Since    time.Time        `json:"since"` // when the function returned
	Handlers []RunningHandler `json:"handlers"`
}

// RunningHandler counts the running handlers of one name. At most a hundred names are listed.
type RunningHandler struct {
	Kind  string `json:"kind"` // "event" or "update"
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// showValues sets the keys of the key-values, which are in order, and what the engine's own ones hold.
func (d *Description) showValues(values []provider.KeyValue, ended bool) {
	for i := range values {
		switch v := &values[i]; {
		case v.Key == replay.ValueClosing && !ended:
			d.Closing = describeClosing(v.Value)
		case v.Key == replay.ValueWaiting && !ended:
			d.Waiting = describeWaiting(v.Value)
		case v.Key == replay.ValueUnread && ended:
			var unread replay.Unread
			if json.Unmarshal(v.Value, &unread) == nil {
				d.Unread = unread
			}
		case strings.HasPrefix(v.Key, history.UpdateKeys):
			if u, pending := describeUpdate(v.Value); pending && !ended {
				d.Updates = append(d.Updates, u)
			}
		case !replay.IsReserved(v.Key):
			d.Keys = append(d.Keys, v.Key)
		}
	}
	slices.SortStableFunc(d.Updates, func(a, b PendingUpdate) int { return a.Since.Compare(b.Since) })
}

// describeClosing returns nil if a newer release has written the phase in a form that this one cannot read.
func describeClosing(data []byte) *Closing {
	var stored replay.Closing
	if json.Unmarshal(data, &stored) != nil {
		return nil
	}
	c := &Closing{Since: provider.Time(stored.Since).Std()}
	for _, h := range stored.Handlers {
		c.Handlers = append(c.Handlers, RunningHandler(h))
	}
	return c
}
