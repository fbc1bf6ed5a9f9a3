package access

import (
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Encode encodes a value of the program, which errors call what, and checks its size.
func Encode(what string, v any) ([]byte, error) {
	data, err := payload.EncodeExact(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: give what encoding/json can write", provider.ErrInvalid, what, failure.New(failure.ErrPayload, "%v", err))
	}
	if limit := replay.SettingsAt(replay.EngineLevel).MaxPayload; int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes: at most %d fit; store the data elsewhere and pass a reference",
			provider.ErrTooLarge, what, len(data), limit)
	}
	return data, nil
}
