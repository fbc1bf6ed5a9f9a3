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

// Check refuses a specification that cannot be meant, and one that names no moment after now.
func (s *Spec) Check(now time.Time) error {
	for _, err := range []error{s.checkTimes(), s.checkBounds(), s.checkRuns()} {
		if err != nil {
			return err
		}
	}
	times, err := Compile("", s)
	if err != nil {
		return err
	}
	if _, ok := times.Next(now); !ok {
		return errors.New("it names no time from now on: correct it, or the bounds From, Until and Except")
	}
	return nil
}

func (s *Spec) checkTimes() error {
	switch n := len(s.Crons) + len(s.Every) + len(s.At); {
	case n == 0:
		return errors.New("it names no time: give Crons, Every or At")
	case len(s.Crons) > MaxCrons || len(s.Except) > MaxCrons:
		return fmt.Errorf("%d crons and %d exceptions: give at most %d of each", len(s.Crons), len(s.Except), MaxCrons)
	case len(s.Every) > MaxEvery:
		return fmt.Errorf("%d intervals: give at most %d", len(s.Every), MaxEvery)
	case len(s.At) > MaxAt:
		return fmt.Errorf("%d fixed times: give at most %d", len(s.At), MaxAt)
	}
	for _, i := range s.Every {
		every, offset := time.Duration(i.Every), time.Duration(i.Offset)
		if every < MinInterval || every%time.Second != 0 {
			return fmt.Errorf("interval of %v: give whole seconds, at least %v", every, MinInterval)
		}
		if offset < 0 || offset >= every || offset%time.Second != 0 {
			return fmt.Errorf("offset of %v in an interval of %v: give whole seconds, less than the interval", offset, every)
		}
	}
	for _, at := range s.At {
		if !at.Equal(at.Truncate(time.Second)) {
			return fmt.Errorf("fixed time %v: give whole seconds", at)
		}
		if err := checkYear("fixed time", at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) checkBounds() error {
	for _, b := range []struct {
		what string
		at   time.Time
	}{{"From", s.From}, {"Until", s.Until}} {
		if !b.at.IsZero() {
			if err := checkYear(b.what, b.at); err != nil {
				return err
			}
		}
	}
	if !s.From.IsZero() && !s.Until.IsZero() && s.Until.Before(s.From) {
		return fmt.Errorf("it ends (Until %v) before it begins (From %v): swap them", s.Until, s.From)
	}
	if s.Jitter < 0 || time.Duration(s.Jitter) > MaxJitter {
		return fmt.Errorf("jitter of %v: give 0 to %v", time.Duration(s.Jitter), MaxJitter)
	}
	return nil
}

// checkYear keeps times in the years that all formats can write.
func checkYear(what string, at time.Time) error {
	if year := at.UTC().Year(); year < 1970 || year > 9999 {
		return fmt.Errorf("%s is in the year %d: give 1970 to 9999", what, year)
	}
	return nil
}

func (s *Spec) checkRuns() error {
	switch s.Overlap {
	case "", Skip, BufferOne, CancelOther:
		if s.MaxRunning != 0 {
			return fmt.Errorf("MaxRunning %d with overlap %q: leave it out, it is for %s", s.MaxRunning, s.Overlap, AllowAll)
		}
	case AllowAll:
		if s.MaxRunning < 0 || s.MaxRunning > MaxRunning {
			return fmt.Errorf("MaxRunning %d: give 1 to %d, or 0 for %d", s.MaxRunning, MaxRunning, DefaultMaxRunning)
		}
	default:
		return fmt.Errorf("overlap %s: give %s, %s, %s or %s", short(string(s.Overlap)), Skip, BufferOne, CancelOther, AllowAll)
	}
	c := s.CatchUp
	switch {
	case time.Duration(c.Window) > MaxWindow:
		return fmt.Errorf("catch-up window of %v: give at most %v", time.Duration(c.Window), MaxWindow)
	case c.Max < 0 || c.Max > MaxCatchUp:
		return fmt.Errorf("catch-up of %d runs: give 1 to %d, or a negative window for none", c.Max, MaxCatchUp)
	case s.PauseAfterFailures < 0:
		return fmt.Errorf("PauseAfterFailures %d: give 1 or more, or 0 for never", s.PauseAfterFailures)
	case s.Limit < 0:
		return fmt.Errorf("limit of %d starts: give 1 or more, or 0 for none", s.Limit)
	}
	return nil
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
