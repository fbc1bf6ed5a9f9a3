package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/cron"
)

// Limits of a specification.
const (
	MaxCrons    = 50
	MaxEvery    = 50
	MaxAt       = 200
	MaxJitter   = 24 * time.Hour
	MaxWindow   = 31 * 24 * time.Hour
	MaxCatchUp  = 1000
	MaxRunning  = 100
	MinInterval = time.Second
)

// Defaults of a specification.
const (
	DefaultWindow     = 24 * time.Hour
	DefaultMaxRunning = 10
)

// Overlap says what happens at a due time while a run goes on.
type Overlap string

// The overlaps. "" is Skip.
const (
	Skip        Overlap = "skip"
	BufferOne   Overlap = "buffer-one"
	CancelOther Overlap = "cancel-other"
	AllowAll    Overlap = "allow-all"
)

// Spec says when a schedule starts its runs, and how.
type Spec struct {
	Crons  []string    `json:"crons,omitempty"`
	Every  []Interval  `json:"every,omitempty"`
	At     []time.Time `json:"at,omitempty"`
	Except []string    `json:"except,omitempty"`
	Zone   string      `json:"zone,omitempty"`
	From   time.Time   `json:"from,omitzero"`
	Until  time.Time   `json:"until,omitzero"`
	Jitter Duration    `json:"jitter,omitzero"`

	Overlap    Overlap `json:"overlap,omitempty"`
	MaxRunning int     `json:"maxRunning,omitempty"`
	CatchUp    CatchUp `json:"catchUp,omitzero"`

	PauseAfterFailures int `json:"pauseAfterFailures,omitempty"`
	Limit              int `json:"limit,omitempty"`
}

// Interval is a rhythm in real time, counted from the beginning of 1970 in UTC plus the offset.
type Interval struct {
	Every  Duration `json:"every"`
	Offset Duration `json:"offset,omitzero"`
}

// CatchUp says which due times are started late. The zero value is the latest within DefaultWindow. A negative window means none.
type CatchUp struct {
	Window Duration `json:"window,omitzero"`
	Max    int      `json:"max,omitempty"`
}

// window returns the window, 0 for none.
func (c CatchUp) window() time.Duration {
	switch {
	case c.Window < 0:
		return 0
	case c.Window == 0:
		return DefaultWindow
	}
	return time.Duration(c.Window)
}

func (c CatchUp) most() int { return max(1, c.Max) }

// Running returns how many runs may go on at a time.
func (s *Spec) Running() int {
	switch {
	case s.Overlap != AllowAll:
		return 1
	case s.MaxRunning == 0:
		return DefaultMaxRunning
	}
	return s.MaxRunning
}

// ErrZone means that a time zone is not known here. Other machines may know it.
var ErrZone = errors.New("unknown time zone")

// Zones loads the zone of a specification.
func (s *Spec) zone() (*time.Location, error) {
	if s.Zone == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil || s.Zone == "Local" {
		return nil, fmt.Errorf("%w %s: give one of the IANA database, such as \"Europe/Berlin\", and install that database (tzdata) or import time/tzdata",
			ErrZone, short(s.Zone))
	}
	return zone, nil
}

// compileCrons parses expressions.
func compileCrons(texts []string) ([]*cron.Expr, error) {
	var all []*cron.Expr
	for _, text := range texts {
		e, err := cron.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func short(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%q...", text[:40])
	}
	return fmt.Sprintf("%q", text)
}
