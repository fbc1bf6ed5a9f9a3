// Package tasktoken encodes the token with which a pending activity is completed.
//
// A token carries the task, the attempt and the lease token that holds it. The lease token is random, which makes the
// whole unguessable. The checksum only separates a damaged token from one whose attempt is over.
package tasktoken

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/perdure/perdure/provider"
)

// Token names one attempt of an activity.
type Token struct {
	Task    provider.TaskRef
	Attempt int64
	Holder  provider.UUID // the lease token
	Lease   time.Duration // length of the lease, for its renewals
}

// format is the first byte. A release that changes the rest takes another one.
const format = 1

// Why a text is refused.
var (
	errDamaged = errors.New("the completion token is damaged: pass the result of activity.Token unchanged")
	errNewer   = errors.New("the token was made by a newer release: upgrade this program")
)

//nolint:gochecknoglobals // constant table
var (
	encoding = base64.RawURLEncoding
	table    = crc32.MakeTable(crc32.Castagnoli)
)

// Encode makes the text of a token. It may stand in a URL as it is.
func Encode(t Token) string {
	data := make([]byte, 0, 64)
	data = append(data, format)
	data = append(data, t.Task.Key[:]...)
	data = append(data, t.Holder[:]...)
	for _, n := range numbers(&t) {
		data = binary.AppendVarint(data, *n)
	}
	data = binary.BigEndian.AppendUint32(data, crc32.Checksum(data, table))
	return encoding.EncodeToString(data)
}

// Decode reads a token. It refuses every text that Encode did not make.
func Decode(text string) (t Token, err error) {
	data, err := encoding.DecodeString(text)
	if err != nil || len(data) < 1+16+16+4+4 {
		return Token{}, errDamaged
	}
	data, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(data, table) != binary.BigEndian.Uint32(sum) {
		return Token{}, errDamaged
	}
	if data[0] != format {
		return Token{}, errNewer
	}
	data = data[1:]
	data = data[copy(t.Task.Key[:], data):]
	data = data[copy(t.Holder[:], data):]
	for _, n := range numbers(&t) {
		v, size := binary.Varint(data)
		if size <= 0 || v < 1 {
			return Token{}, errDamaged
		}
		*n, data = v, data[size:]
	}
	// The decoder passes over line breaks: one token has one text.
	if t.Task.Key.IsZero() || t.Holder.IsZero() || Encode(t) != text {
		return Token{}, errDamaged
	}
	return t, nil
}

// numbers are the numbers of a token in the order of the text.
func numbers(t *Token) [4]*int64 {
	return [4]*int64{&t.Task.Execution, &t.Task.EventID, &t.Attempt, (*int64)(&t.Lease)}
}
