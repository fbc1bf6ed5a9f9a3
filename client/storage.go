package client

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// A storage is the store of a client.
type storage struct {
	*access.Store

	noHeaders sync.Once // the log has said that headers are left out
}

// message encodes a body for an inbox.
func message(b history.Body) provider.NewMessage {
	return provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), EngineLevel: replay.LevelOfMessage(b), Payload: history.Encode(nil, history.Event{Body: b}),
	}
}

// storeTime returns the storage's time.
func (c *Client) storeTime(ctx context.Context, op string) (provider.Time, error) {
	page, err := access.Read(ctx, c.store.Store, op, c.store.List, provider.ListRequest{Max: 1})
	if err != nil {
		return 0, access.Explain("reading the storage's time", 0, err)
	}
	return page.Now, nil
}
