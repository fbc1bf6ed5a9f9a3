package history

import (
	"encoding/binary"
	"fmt"
)

// DecodeShown is Decode for what shows events: one whose values are sealed is returned without them, with the key.
func DecodeShown(id int64, data []byte) (e Event, key string, err error) {
	if len(data) < 2 || data[0] != formatVersion || kinds[Kind(data[1])].make == nil || !isSealedEvent(data) {
		e, err = Decode(id, data)
		return e, "", err
	}
	e, s, err := decodeSealed(id, data)
	return e, s.key, err
}

// Kept is what is sealed, or is to be sealed, of stored bytes.
type Kept struct {
	Key   string // ID of the key; "": it is plain
	Bytes []byte
}

// EventSecrets returns the values of an encoded event as one byte string, to be sealed, or the sealed one. Bytes is nil if the event has none.
func EventSecrets(data []byte) (Kept, error) {
	if len(data) < 2 || data[0] != formatVersion || kinds[Kind(data[1])].make == nil {
		return Kept{}, nil // what this release cannot read stays as it is
	}
	if isSealedEvent(data) {
		_, s, err := decodeSealed(0, data)
		return Kept{Key: s.key, Bytes: s.data}, err
	}
	e, err := Decode(0, data)
	if err != nil {
		return Kept{}, err
	}
	var out []byte
	found := false
	for _, v := range places(e.Body) {
		value := v.get()
		found = found || len(value) > 0
		out = binary.AppendUvarint(out, uint64(len(value)))
		out = append(out, value...)
	}
	if !found {
		return Kept{}, nil
	}
	return Kept{Bytes: out}, nil
}

// SealEvent returns an encoded event with s in place of its values.
func SealEvent(data []byte, s Kept) ([]byte, error) {
	e, err := Decode(0, data)
	if err != nil {
		return nil, err
	}
	for _, v := range places(e.Body) {
		v.set(nil)
	}
	env := sealedEnvelope{
		envelope: envelope{at: e.At, more: e.More, newer: e.Newer, anchor: e.Anchor, body: e.Body}, sealed: sealed{key: s.Key, data: s.Bytes},
	}
	return appendRecord([]byte{formatVersion, byte(e.Body.Kind())}, &env), nil
}

// OpenEvent returns a sealed event with its values, which EventSecrets returned before they were sealed.
func OpenEvent(data, secrets []byte) ([]byte, error) {
	e, _, err := decodeSealed(0, data)
	if err != nil {
		return nil, err
	}
	for _, v := range places(e.Body) {
		size, n := binary.Uvarint(secrets)
		if n <= 0 || size > uint64(len(secrets)-n) {
			return nil, fmt.Errorf("values of a %v: %w", e.Body.Kind(), ErrCorrupt)
		}
		end := n + int(size)
		v.set(secrets[n:end:end])
		secrets = secrets[end:]
	}
	if len(secrets) > 0 {
		return nil, fmt.Errorf("values of a %v: %d bytes too many: %w", e.Body.Kind(), len(secrets), ErrCorrupt)
	}
	return Encode(nil, e), nil
}

// Note is what a process knows, in memory, of sealed bytes that it could not open. The zero one is none.
type Note struct {
	Damage string // what is wrong with the bytes
	Why    string // why the codec has no key for them
}

// NotedEvent returns a sealed event with a note in place of the one that it has.
func NotedEvent(data []byte, n Note) []byte {
	if len(data) < 2 || data[0] != formatVersion || kinds[Kind(data[1])].make == nil || !isSealedEvent(data) {
		return data
	}
	e, s, err := decodeSealed(0, data)
	if err != nil || s.damage == n.Damage && s.why == n.Why {
		return data
	}
	s.damage, s.why = n.Damage, n.Why
	env := sealedEnvelope{envelope: envelope{at: e.At, more: e.More, newer: e.Newer, anchor: e.Anchor, body: e.Body}, sealed: s}
	return appendRecord([]byte{formatVersion, byte(e.Body.Kind())}, &env)
}

// get returns the value of a place.
func (v *Value) get() []byte {
	if v.Text != nil {
		return []byte(*v.Text)
	}
	return *v.Bytes
}

// set sets the value of a place; nil: an empty one.
func (v *Value) set(value []byte) {
	switch {
	case v.Text != nil:
		*v.Text = string(value)
	case len(value) == 0:
		*v.Bytes = nil
	default:
		*v.Bytes = value
	}
}

// EncodeSealed returns the form of a byte string that is sealed as a whole.
func EncodeSealed(s Kept) []byte {
	return appendRecord([]byte{formatSealed, sealedMark}, &sealed{key: s.Key, data: s.Bytes})
}

// Secrets returns a byte string that is no event, to be sealed, or the sealed one.
func Secrets(data []byte) (Kept, error) {
	if !IsSealed(data) {
		return Kept{Bytes: data}, nil
	}
	var s sealed
	err := decodeRecord(data[2:], &s, 0)
	return Kept{Key: s.key, Bytes: s.data}, err
}

// Noted returns a byte string that is sealed as a whole, with a note in place of the one that it has.
func Noted(data []byte, n Note) []byte {
	if !IsSealed(data) {
		return data
	}
	var s sealed
	if err := decodeRecord(data[2:], &s, 0); err != nil || s.damage == n.Damage && s.why == n.Why {
		return data
	}
	s.damage, s.why = n.Damage, n.Why
	return appendRecord([]byte{formatSealed, sealedMark}, &s)
}
