package provider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"time"
)

// Slots is the number of slots. A store over several databases gives each slot to one of them, so that it finds an
// instance by its ID and by its key. All other stores ignore slots.
const Slots = 1 << slotBits

const (
	slotBits   = 12
	finerBits  = 12
	randomBits = 50
	keyVersion = 8
	keyVariant = 0b10 // of RFC 9562
	// tagEnd ends the tag of an ID.
	tagEnd = "!"
)

// NewKey returns a new key for an instance with the given ID, in the slot of that ID. It is safe for concurrent use.
func NewKey(id string) UUID { return NewKeyIn(SlotOfID(id)) }

// NewKeyIn returns a new key in the given slot, which counts from 0 to Slots-1; another number counts modulo Slots. The ID
// of a question is such a key, in the slot of its instance. NewKeyIn is safe for concurrent use.
//
// A key is a UUID of version 8. It has 48 bits of time in milliseconds, the version, 12 bits of finer time, the variant,
// 12 bits of slot and 50 random bits. Keys sort by age, and those that one process makes rise.
func NewKeyIn(slot int) (key UUID) {
	_, _ = rand.Read(key[8:]) // it never fails
	random := binary.BigEndian.Uint64(key[8:]) >> (64 - randomBits)
	at := riseTo(time.Now())
	binary.BigEndian.PutUint64(key[:], at>>finerBits<<16|keyVersion<<finerBits|at&(1<<finerBits-1))
	binary.BigEndian.PutUint64(key[8:], keyVariant<<62|uint64(slot)%Slots<<randomBits|random)
	return key
}

// KeyOf returns the key of the instance that a request starts under an ID: the same each time. It is in the slot of the ID, and has
// no time. Two requests have the same key only by an accident that is as rare as that of two random keys.
func KeyOf(id, requestID string) (key UUID) {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte("key"), uint64(len(id))), id+requestID...))
	copy(key[:], sum[:])
	key[6] = keyVersion<<4 | key[6]&0xf
	random := binary.BigEndian.Uint64(key[8:]) >> (64 - randomBits)
	binary.BigEndian.PutUint64(key[8:], keyVariant<<62|uint64(SlotOfID(id))<<randomBits|random)
	return key
}

// lastKey is the time of the last key.
var lastKey atomic.Uint64 //nolint:gochecknoglobals // the keys of a process rise

// riseTo returns the time of a key: milliseconds and 12 bits, which count units of 256 ns, later than those of all keys before.
func riseTo(now time.Time) (at uint64) {
	const unit = 256
	ms := now.UnixMilli()
	clock := uint64(ms)<<finerBits | uint64(now.UnixNano()-ms*int64(time.Millisecond))/unit
	for {
		last := lastKey.Load()
		if at = max(clock, last+1); lastKey.CompareAndSwap(last, at) {
			return at
		}
	}
}

// SlotOf returns the slot of a key. A key of another version than 8 has the slot of its text. Earlier releases made such
// keys. An ID that begins with one of them has the same slot.
func SlotOf(key UUID) int {
	if key[6]>>4 != keyVersion {
		return hashed(key.String())
	}
	return int(binary.BigEndian.Uint64(key[8:]) >> randomBits % Slots)
}

// SlotOfID returns the slot of all instances with the given ID.
//
// An ID that begins with a key and a slash has the slot of that key. The engine gives such IDs to children, so that a
// tree stays in one slot. If an ID has a tag, which is all before its first exclamation mark, only the tag counts. So
// "tenant42!order-7" and "tenant42!order-8" have one slot. Other IDs count as a whole. The slot of a text is the first 12
// bits of its SHA-256.
func SlotOfID(id string) int {
	if len(id) > 36 && id[36] == '/' {
		if key, ok := parseUUID(id[:36]); ok {
			return SlotOf(key)
		}
	}
	if tag, _, found := strings.Cut(id, tagEnd); found && tag != "" {
		return hashed(tag)
	}
	return hashed(id)
}

// hashed returns the slot of a text.
func hashed(text string) int {
	var short [64]byte // most texts fit, and cost no allocation
	sum := sha256.Sum256(append(short[:0], text...))
	return int(binary.BigEndian.Uint16(sum[:]) >> (16 - slotBits))
}
