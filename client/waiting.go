package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// WaitingFor is what code waits for, in words for people: see orchestration.Waiting.
type WaitingFor struct {
	Text  string    `json:"text"`           // up to 200 bytes; a payload: show it only to those who may see payloads
	Since time.Time `json:"since,omitzero"` // zero: the text is encrypted, and the client has no key
}

// describeWaiting returns nil if a newer release has written the text in a form that this one cannot read.
func describeWaiting(data []byte) *WaitingFor {
	if history.IsSealed(data) {
		return &WaitingFor{Text: "encrypted: this client has no key for it"}
	}
	var stored replay.Waiting
	if json.Unmarshal(data, &stored) != nil || stored.Text == "" {
		return nil
	}
	return &WaitingFor{Text: stored.Text, Since: provider.Time(stored.Since).Std()}
}

// showWaiting reads the texts of listed instances. One that waits no longer, or whose text cannot be read, shows none.
func (c *Client) showWaiting(ctx context.Context, items []Description) {
	for i := range items {
		d := &items[i]
		if res, err := c.store.Get(ctx, provider.GetRequest{Key: d.Key, Value: replay.ValueWaiting}); err == nil && res.Value != nil {
			d.Waiting = describeWaiting(res.Value.Value)
		}
	}
}
