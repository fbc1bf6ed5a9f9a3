package client

import (
	"fmt"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// maxReason bounds the reason of a cancellation or termination, in bytes.
const maxReason = 4 << 10

// invalid wraps the error of a check in ErrInvalid. nil stays nil.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}

// checkName refuses an ID or name that no storage would take.
func checkName(what, name string) error { return invalid(check.Name(what, name)) }

// checkReason checks a reason, which may be empty.
func checkReason(reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("%w: the reason has %d bytes: shorten it to %d", ErrTooLarge, len(reason), maxReason)
	}
	return invalid(check.Text("reason", reason))
}

// encodePayload encodes a value of the caller and checks its size.
func encodePayload(what string, v any) ([]byte, error) {
	data, err := payload.EncodeExact(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: give what encoding/json can write", ErrInvalid, what, failure.New(failure.ErrPayload, "%v", err))
	}
	if limit := replay.SettingsAt(replay.EngineLevel).MaxPayload; int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes: at most %d fit; store the data elsewhere and pass a reference",
			ErrTooLarge, what, len(data), limit)
	}
	return data, nil
}
