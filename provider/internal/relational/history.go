package relational

import (
	"encoding/binary"
	"errors"

	"github.com/perdure/perdure/provider"
)

// PackEvents encodes the events of one commit into buf: each with its length before it.
func PackEvents(buf []byte, events [][]byte) (packed []byte, bytes int64) {
	packed = buf[:0]
	for _, e := range events {
		packed = binary.AppendUvarint(packed, uint64(len(e)))
		packed = append(packed, e...)
		bytes += int64(len(e))
	}
	return packed, bytes
}

// ErrCutOff marks packed events that end too early.
var ErrCutOff = errors.New("an event is cut off")

// NextEvent takes the first event from packed ones; the rest follows it.
func NextEvent(packed []byte) (event, rest []byte, err error) {
	n, head := binary.Uvarint(packed)
	if head <= 0 || uint64(len(packed)-head) < n {
		return nil, nil, ErrCutOff
	}
	end := head + int(n)
	return packed[head:end:end], packed[end:], nil
}

// appendEvents extends the history of the current execution.
func (t *Tx) appendEvents(h *Head, events [][]byte) error {
	if len(events) == 0 {
		return nil
	}
	var bytes int64
	t.packed, bytes = PackEvents(t.packed, events)
	if err := t.Rows.AppendEvents(h, len(events), t.packed); err != nil {
		return err
	}
	h.Length += int64(len(events))
	h.Bytes += bytes
	t.touch(h)
	return nil
}

// closeExecution records the current execution as over, and removes its tasks and timers.
func (t *Tx) closeExecution(h *Head, status provider.Status) error {
	if err := t.Rows.AddExecution(h.Key, h.Execution, status, h.Length); err != nil {
		return err
	}
	t.Changes++
	return t.clearExecution(h)
}
