package client

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// HistoryValue is something in a history that code of the user has made.
type HistoryValue struct {
	Event int64  `json:"event"` // its number
	Kind  string `json:"kind"`  // of the event, such as ActivityCompleted
	// Field is "input", "output", "payload" of an event, "value" of a side effect, "error" for the text of an error, or "details" of a
	// registered error.
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"` // a string for "error"
}

// Redact returns a copy of the history in which all values are what change returns for them: for tests whose files must not have what
// customers wrote. It is given the values in order. Names, IDs, reasons, headers and times stay as they are.
//
// Replay the result before you keep it: code that decides by a value may do something else with another one. The size of the history
// changes with its values, which code may see.
//
// Errors: that of change, or an error that names the event if change returns no JSON, or no string for an "error".
func (f *HistoryFile) Redact(change func(v HistoryValue) (json.RawMessage, error)) (HistoryFile, error) {
	out := *f
	out.Events = make([][]byte, len(f.Events))
	for i, data := range f.Events {
		id := int64(i) + 1
		e, err := history.Decode(id, data)
		if err == nil {
			err = redactEvent(&e, change)
		}
		if err != nil {
			return HistoryFile{}, fmt.Errorf("redacting event %d of instance %q: %w", id, f.InstanceID, err)
		}
		out.Events[i] = history.Encode(nil, e)
	}
	return out, nil
}

func redactEvent(e *history.Event, change func(v HistoryValue) (json.RawMessage, error)) error {
	for _, v := range history.Values(e.Body) {
		shown := HistoryValue{Event: e.ID, Kind: e.Body.Kind().String(), Field: v.Field}
		if v.Text == nil {
			shown.Value = bytes.Clone(*v.Bytes)
		} else {
			shown.Value, _ = json.Marshal(*v.Text) //nolint:errchkjson // a string always encodes
		}
		changed, err := change(shown)
		if err != nil {
			return err
		}
		if !json.Valid(changed) {
			return fmt.Errorf("its %s would become %.100q, which is no JSON", v.Field, changed)
		}
		if v.Text == nil {
			*v.Bytes = changed
			continue
		}
		var text *string
		if err := json.Unmarshal(changed, &text); err != nil || text == nil {
			return fmt.Errorf("the text of an error would become %.100q, which is no JSON string", changed)
		}
		*v.Text = *text
	}
	return nil
}
