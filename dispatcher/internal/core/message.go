package core

import (
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Message returns a body encoded for an inbox.
func Message(b history.Body, execution, event int64) provider.NewMessage {
	return provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: execution, EventID: event,
		EngineLevel: replay.LevelOfMessage(b), Payload: history.Encode(nil, history.Event{Body: b}),
	}
}

// Plain returns a text that every storage accepts: at most limit bytes, valid UTF-8 and without NUL. A report refused for its text would be
// retried for ever.
func Plain(text string, limit int) string {
	text = strings.ReplaceAll(text[:min(len(text), limit)], "\x00", "\uFFFD")
	text = strings.ToValidUTF8(text, "")
	for len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// StorageError is a failure of the storage, not of the turn.
type StorageError struct{ Err error }

func (e *StorageError) Error() string { return e.Err.Error() }

func (e *StorageError) Unwrap() error { return e.Err }
