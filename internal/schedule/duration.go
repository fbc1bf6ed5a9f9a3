package schedule

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a duration that is written as text in JSON, such as "1h30m0s".
type Duration time.Duration

// String returns the duration as package time writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) } //nolint:wrapcheck // a text has no error

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration: %w: give a text such as \"1h30m\"", err)
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(v)
	return nil
}
