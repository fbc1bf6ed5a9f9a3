package client

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// maxReason bounds the reason of a cancellation or termination, in bytes.
const maxReason = 4 << 10

// shown is how many bytes of a bad name an error repeats.
const shown = 40

// checkName refuses an ID or name that no storage would take.
func checkName(what, name string) error {
	if name == "" {
		return fmt.Errorf("%w: %s is empty: give 1 to %d bytes of UTF-8", ErrInvalid, what, provider.MaxName)
	}
	if len(name) > provider.MaxName {
		return fmt.Errorf("%w: %s %q... has %d bytes: shorten it to %d", ErrInvalid, what, name[:shown], len(name), provider.MaxName)
	}
	return checkText(what, name)
}

// checkText refuses what a storage could not give back as it was.
func checkText(what, text string) error {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%w: %s %q is not UTF-8 without NUL: encode it, as hex for example", ErrInvalid, what, text[:min(len(text), shown)])
	}
	return nil
}

// checkReason checks a reason, which may be empty.
func checkReason(reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("%w: the reason has %d bytes: shorten it to %d", ErrTooLarge, len(reason), maxReason)
	}
	return checkText("reason", reason)
}

// encodePayload encodes a value of the caller and holds it to the limit that instances
// are started with.
func encodePayload(what string, v any) ([]byte, error) {
	data, err := payload.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, what, err)
	}
	if limit := replay.DefaultSettings().MaxPayload; int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes: at most %d fit; store the data elsewhere and pass a reference",
			ErrTooLarge, what, len(data), limit)
	}
	return data, nil
}
