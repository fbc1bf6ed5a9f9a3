package client

import (
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
