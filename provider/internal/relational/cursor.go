package relational

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// WriteCursor returns the cursor of the page that follows an instance.
func WriteCursor(created provider.Time, key provider.UUID) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(created))
	return base64.RawURLEncoding.EncodeToString(append(b, key[:]...))
}

// Reached returns when the last instance before a cursor was created, 0 without a cursor.
func Reached(cursor string) provider.Time {
	at, _, err := ReadCursor(cursor)
	if err != nil {
		return 0
	}
	return at
}

// ReadCursor parses a cursor of WriteCursor.
func ReadCursor(s string) (created provider.Time, key provider.UUID, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 8+len(key) {
		return 0, key, fmt.Errorf("list: Cursor: %w: %q was not made by List", provider.ErrInvalid, s)
	}
	copy(key[:], b[8:])
	return provider.Time(binary.BigEndian.Uint64(b)), key, nil
}
