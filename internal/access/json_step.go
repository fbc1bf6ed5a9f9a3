package access

import (
	"context"
	"encoding/json"
	"fmt"
)

// StepOf makes a Step of one that has its request, progress and result as values. Each is stored as JSON, by which the releases that run
// side by side understand each other.
func StepOf[Request, Done any](step func(ctx context.Context, req Request, from *Done, heartbeat func(done Done, store bool) error) (Done, error)) Step {
	return func(ctx context.Context, request, from []byte, heartbeat func(done []byte, store bool) error) ([]byte, error) {
		var req Request
		if err := json.Unmarshal(request, &req); err != nil {
			return nil, fmt.Errorf("reading the request of a step: %w", err)
		}
		var before *Done
		if from != nil {
			before = new(Done)
			if err := json.Unmarshal(from, before); err != nil {
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
