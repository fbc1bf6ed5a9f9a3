package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
)

// TaskToken returns the lease token of one task that FetchTasks leases; fetch is the Token of the request. The
// lease token of a task leaves the engine as part of its completion token. The Token of a request never leaves
// it. So a lease token reveals nothing about the tokens of other tasks, even of the same fetch.
//
// The token is the first 16 bytes of the SHA-256 of fetch, Key, Execution and EventID, integers as 8 bytes in big-endian order.
func TaskToken(fetch UUID, task TaskRef) (token UUID) {
	var text [len(fetch) + len(task.Key) + 16]byte
	copy(text[:], fetch[:])
	copy(text[16:], task.Key[:])
	binary.BigEndian.PutUint64(text[32:], uint64(task.Execution))
	binary.BigEndian.PutUint64(text[40:], uint64(task.EventID))
	sum := sha256.Sum256(text[:])
	copy(token[:], sum[:])
	return token
}

// SameToken reports whether two tokens are equal. It takes the same time wherever they differ.
func SameToken(a, b UUID) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
