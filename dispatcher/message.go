package dispatcher

import (
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// message encodes a body for an inbox.
func message(b history.Body, execution, event int64) provider.NewMessage {
	return provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: execution, EventID: event,
		Payload: history.Encode(nil, history.Event{Body: b}),
	}
}

// plain makes a text that no storage refuses: short enough, valid UTF-8 and without NUL. A
// report that is refused for its text would be made for ever.
func plain(text string, limit int) string {
	text = strings.ReplaceAll(text[:min(len(text), limit)], "\x00", "\uFFFD")
	text = strings.ToValidUTF8(text, "")
	for len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// storageError is a failure of the storage; the turn is not to blame.
type storageError struct{ err error }

func (e *storageError) Error() string { return e.err.Error() }

func (e *storageError) Unwrap() error { return e.err }
