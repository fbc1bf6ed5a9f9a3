package relational

import (
	"encoding/binary"
	"errors"
)

// PackEvents encodes the events of one commit into buf, each after its length.
func PackEvents(buf []byte, events [][]byte) (packed []byte, bytes int64) {
	packed = buf[:0]
	for _, e := range events {
		packed = binary.AppendUvarint(packed, uint64(len(e)))
		packed = append(packed, e...)
		bytes += int64(len(e))
	}
	return packed, bytes
}

// ErrCutOff is returned for packed events that end too early.
var ErrCutOff = errors.New("an event is cut off")

// NextEvent splits the first event off packed events.
func NextEvent(packed []byte) (event, rest []byte, err error) {
	n, head := binary.Uvarint(packed)
	if head <= 0 || uint64(len(packed)-head) < n {
		return nil, nil, ErrCutOff
	}
	end := head + int(n)
	return packed[head:end:end], packed[end:], nil
}
