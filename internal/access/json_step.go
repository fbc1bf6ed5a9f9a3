package access

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// StepOf makes a Step of one that has its request, progress and result as values. Each is stored as JSON, by which the releases that run
// side by side understand each other.
func StepOf[Request, Done any](step func(ctx context.Context, req Request, from *Done, heartbeat func(done Done, store bool) error) (Done, error)) Step {
	return stepOf(step, json.Unmarshal)
}

// StrictStepOf makes a Step that refuses a request or a progress with fields that this release does not know. Each attempt is refused, so the
// step waits for a node of a newer release. A request with the method Unknown is asked, too.
func StrictStepOf[Request, Done any](
	step func(ctx context.Context, req Request, from *Done, heartbeat func(done Done, store bool) error) (Done, error),
) Step {
	return stepOf(step, func(text []byte, v any) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			return err //nolint:wrapcheck // the step that fails by it names itself
		}
		if of, ok := v.(interface{ Unknown() error }); ok {
			return of.Unknown()
		}
		return nil
	})
}

func stepOf[Request, Done any](
	step func(ctx context.Context, req Request, from *Done, heartbeat func(done Done, store bool) error) (Done, error),
	read func(text []byte, v any) error,
) Step {
	return func(ctx context.Context, request, from []byte, heartbeat func(done []byte, store bool) error) ([]byte, error) {
		var req Request
		if err := read(request, &req); err != nil {
			return nil, fmt.Errorf("reading the request of a step: %w", err)
		}
		var before *Done
		if from != nil {
			before = new(Done)
			if err := read(from, before); err != nil {
				return nil, fmt.Errorf("reading the progress of a step: %w", err)
			}
		}
		done, err := step(ctx, req, before, func(done Done, store bool) error {
			text, err := json.Marshal(done)
			if err != nil {
				return fmt.Errorf("writing the progress of a step: %w", err)
			}
			return heartbeat(text, store)
		})
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(done)
		if err != nil {
			return nil, fmt.Errorf("writing the result of a step: %w", err)
		}
		return text, nil
	}
}
