package history

import (
	"errors"
	"fmt"
)

// The values of an event can be sealed: encrypted, by a codec that this package knows nothing of. Then the event holds one sealed byte string in
// a field that no release before level 12 reads, and its values are empty. Everything else stays readable. Other stored byte strings, such as
// the outcome of an instance or a key-value, are sealed as a whole.

// sealedField is the number of the field of an event with its sealed values. It is written first, so that an event without it is
// recognised by a byte.
const sealedField = maxFields

// formatSealed begins a byte string that is sealed as a whole. To older releases it is the format of a newer one, and no JSON.
const formatSealed = 2

// sealedMark follows formatSealed.
const sealedMark = 's'

// ErrSealed means that bytes are sealed and were not opened.
var ErrSealed = errors.New("it is encrypted")

// SealedError is an ErrSealed. It is also an ErrNewer, as it means the same to a node: another node may be able to read the bytes, so it leaves
// them alone. If the bytes are damaged, it is an ErrCorrupt in place of that.
type SealedError struct {
	Key    string // ID of the key
	Damage string // what is wrong with the bytes; "": they were not opened
	Why    string // what the codec says, which has no key for them; "": there is no codec, or it does not answer
}

// Error implements error.
func (e *SealedError) Error() string {
	if e.Damage != "" {
		return fmt.Sprintf("encrypted with key %q: %s", e.Key, e.Damage)
	}
	if e.Why != "" {
		return fmt.Sprintf("encrypted with key %q, and the codec of this process cannot decrypt that: %s", e.Key, e.Why)
	}
	return fmt.Sprintf("encrypted with key %q, which this process has no codec for, or whose codec does not answer", e.Key)
}

// Is reports what the error means.
func (e *SealedError) Is(target error) bool {
	return target == ErrSealed || target == ErrNewer && e.Damage == "" || target == ErrCorrupt && e.Damage != ""
}

// sealed is what is stored in place of values.
type sealed struct {
	key    string
	data   []byte
	damage string // set in memory only, by what found it
	why    string // the same
}

func (s *sealed) fields(c *codec) {
	c.text(1, &s.key)
	c.payload(2, &s.data)
	c.text(3, &s.damage)
	c.text(4, &s.why)
}

// IsSealed reports whether a byte string, which is no event, is sealed as a whole.
func IsSealed(data []byte) bool {
	return len(data) > 1 && data[0] == formatSealed && data[1] == sealedMark
}

// SealedIn returns the *SealedError of a byte string that is sealed as a whole, and nil for another one.
func SealedIn(data []byte) error {
	if !IsSealed(data) {
		return nil
	}
	var s sealed
	if err := decodeRecord(data[2:], &s, 0); err != nil {
		return err
	}
	return s.err()
}

func (s *sealed) err() *SealedError { return &SealedError{Key: s.key, Damage: s.damage, Why: s.why} }
