package access

import (
	"encoding/json"
	"fmt"
)

// StepOf makes a step whose request, progress and result are JSON. from is how far an attempt before has come, nil for the first. heartbeat takes
// the progress of the attempt, and returns once it is stored if store is set. The forms are JSON because public
// signatures name no internal type.
func StepOf[Request, Done any](
	request, from []byte, heartbeat func(done []byte, store bool) error,
	step func(req Request, from *Done, heartbeat func(done Done, store bool) error) (Done, error),
) ([]byte, error) {
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
	done, err := step(req, before, func(done Done, store bool) error {
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
