package orchestration

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Previous says how the run before has ended: see [Info].
type Previous struct {
	ID, Key string
	Status  string // "Completed", "Failed", "Cancelled" or "Terminated"
	Ended   time.Time
	// Output is nil if there is none or if it has more than 16 KiB, which OutputBytes says. See Decode.
	Output      json.RawMessage
	OutputBytes int64

	err error
}

// Err returns what the run before has ended with; nil: it has completed, or there is none. Of an error with more than 4 KiB, the beginning of the
// text is left.
func (p *Previous) Err() error {
	if p == nil {
		return nil
	}
	return p.err
}

// Decode decodes the output into what out points to. The error is ErrPayload if there is no output, also of a nil Previous, if it was too large
// to be kept, or if it is of another type.
func (p *Previous) Decode(out any) error {
	switch {
	case p == nil:
		return newError(failure.ErrPayload, "there is no run before this one")
	case p.err != nil:
		return newError(failure.ErrPayload, "the run before, %s, has no output: it ended as %s", p.ID, p.Status)
	case p.Output == nil && p.OutputBytes > 0:
		return newError(failure.ErrPayload, "the output of the run before, %s, has %d bytes: those over %d are not kept",
			p.ID, p.OutputBytes, history.MaxPreviousOutput)
	}
	if err := payload.Decode(p.Output, out); err != nil {
		return fmt.Errorf("the output of the run before, %s: %w", p.ID, err)
	}
	return nil
}

// previousOf returns what code sees of the run before.
func previousOf(scope *replay.Scope, b *history.Previous) *Previous {
	if b == nil {
		return nil
	}
	p := &Previous{
		ID: b.ID, Key: provider.UUID(b.Key).String(), Status: provider.Status(b.Status).String(), Ended: time.UnixMicro(b.Ended).UTC(),
		OutputBytes: b.Size,
	}
	if len(b.Output) > 0 {
		p.Output = append(p.Output, b.Output...)
	}
	if b.Failure != nil {
		p.err = scope.Env().Errors.Decode(*b.Failure)
	}
	return p
}
