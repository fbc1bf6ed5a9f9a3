package provider

import (
	"encoding/hex"
	"errors"
	"time"
)

// Time is an instant of the storage's clock: microseconds since 1970-01-01 UTC.
// Zero means none.
type Time int64

// TimeOf converts t, truncated to microseconds. The zero time.Time becomes 0.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMicro())
}

// Std converts to a time.Time in UTC; 0 becomes the zero time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// Add returns t+d, rounded up to a microsecond so that nothing is ever early.
func (t Time) Add(d time.Duration) Time {
	later := d / time.Microsecond
	if d%time.Microsecond > 0 {
		later++
	}
	return t + Time(later)
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Microsecond }

// UUID is a 16-byte unique ID: an instance key, a commit ID or a lease token. Callers
// make them, providers never do. [NewKey] makes keys, which sort by age. Tokens are random
// bits, so that they cannot be guessed. The zero value means none.
type UUID [16]byte

// IsZero reports whether u is the zero value, which means none.
func (u UUID) IsZero() bool { return u == UUID{} }

// String formats u in the usual 8-4-4-4-12 form.
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

var errUUID = errors.New("not a UUID of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")

// UnmarshalText implements encoding.TextUnmarshaler. An error leaves u as it was.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, ok := parseUUID(string(text))
	if !ok {
		return errUUID
	}
	*u = parsed
	return nil
}

// parseUUID reads the usual form, and reports whether the text has it.
func parseUUID(text string) (u UUID, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return u, false
	}
	var packed [32]byte
	n := 0
	for _, part := range [...]string{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		n += copy(packed[n:], part)
	}
	_, err := hex.Decode(u[:], packed[:])
	return u, err == nil
}
