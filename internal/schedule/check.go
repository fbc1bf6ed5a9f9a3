package schedule

import (
	"errors"
	"fmt"
	"time"
)

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
