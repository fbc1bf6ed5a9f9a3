package client

import (
	"encoding/json"
	"fmt"
	"time"

	form "github.com/perdure/perdure/internal/schedule"
)

// ScheduleSpec says when a schedule starts its runs, and what it does when one is late, overlaps or fails. Give at least one of Crons, Every
// and At; their times are put together. Due times are whole seconds. In JSON, durations are texts such as "1h30m".
//
// Crons have five fields: minute, hour, day, month and weekday, with the second in front if there are six. They know lists, ranges, steps,
// names (MON, JAN), L for the last day of a month, FRIL for its last Friday, FRI#2 for its second one, and @hourly, @daily, @weekly,
// @monthly and @yearly. If neither day field is * or ?, one match is enough.
//
// When the clocks change, a time of day that does not exist ("30 2 * * *") runs at the first moment after the gap, and one that exists twice
// runs once. If the minute or the hour is a wildcard, a range or a step ("*/30 * * * *"), the expression is a rhythm in real time.
type ScheduleSpec struct {
	Crons  []string           // at most 50
	Every  []ScheduleInterval // at most 50
	At     []time.Time        // at most 200 fixed times
	Except []string           // crons of times that are left out; without a field for seconds, whole minutes. At most 50
	Zone   string             // of the crons, from the IANA database, such as "Europe/Berlin"; default UTC
	From   time.Time          // no due time is earlier; the zero time: no bound
	Until  time.Time          // no due time is later; the zero time: no bound
	// Jitter delays each run by up to this much, at most 24 h. The delay follows from the ID of the schedule and the due time. It may be longer
	// than the distance of the due times. All other rules go by the due time itself, but a start is late only after its delay.
	Jitter time.Duration

	Overlap    ScheduleOverlap // while a run goes on; default OverlapSkip
	MaxRunning int             // of OverlapAllowAll: runs at a time, 1 to 100; 0: 10
	CatchUp    CatchUp         // which missed due times are started late; default: the latest within 24 h

	PauseAfterFailures int // pauses the schedule when that many runs in a row have failed; 0: never
	Limit              int // starts until the schedule stops; a change of the limit counts from there; 0: no limit
}

// ScheduleInterval is a rhythm in real time. Its due times are Offset after the multiples of Every since the beginning of 1970 in UTC. Both are
// whole seconds; Every is at least one, and Offset is less than Every.
type ScheduleInterval struct {
	Every  time.Duration
	Offset time.Duration
}

// ScheduleOverlap says what happens at a due time while a run of the schedule goes on. Suspended and blocked runs go on, too.
type ScheduleOverlap string

// The overlaps. The empty text is OverlapSkip.
const (
	// OverlapSkip skips the due time.
	OverlapSkip ScheduleOverlap = "skip"
	// OverlapBufferOne starts one run at the end of the one that goes on, and skips further due times until then.
	OverlapBufferOne ScheduleOverlap = "buffer-one"
	// OverlapCancelOther cancels the run and starts the next one at its end. A run that is suspended for a minute after that does not
	// end, so the due time is skipped.
	OverlapCancelOther ScheduleOverlap = "cancel-other"
	// OverlapAllowAll starts up to ScheduleSpec.MaxRunning runs beside each other.
	OverlapAllowAll ScheduleOverlap = "allow-all"
)

// CatchUp says which due times are started although no node started them within a minute. The zero value means the latest one within 24 h.
// Due times before the schedule was created, resumed or changed are never started. The overlap holds for late starts, too.
type CatchUp struct {
	Window time.Duration // how late a start may be, at most 31 days; 0: 24 h; see NoCatchUp
	Max    int           // how many are started, the latest ones: 1 to 1,000; 0: 1
}

// NoCatchUp skips all due times that were missed.
func NoCatchUp() CatchUp { return CatchUp{Window: -1} }

// ScheduledTime is a due time of a schedule.
type ScheduledTime struct {
	Due time.Time `json:"due"` // as the specification names it, in UTC
	At  time.Time `json:"at"`  // when the run starts: Due and the jitter
}

// NextTimes returns the next due times of a specification after a moment, at most n. It has fewer if the specification ends. The jitter is
// left out, as it depends on the schedule. The error is ErrInvalid for a specification that is not allowed, and for n out of 1 to 1,000.
func NextTimes(spec ScheduleSpec, after time.Time, n int) ([]time.Time, error) {
	const op = "computing due times"
	stored := spec.stored()
	if n < 1 || n > form.MaxBackfill {
		return nil, fmt.Errorf("%s: %w: %d times: give 1 to %d", op, ErrInvalid, n, form.MaxBackfill)
	}
	if err := stored.Check(after); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", op, ErrInvalid, err)
	}
	times, err := form.Compile("", &stored)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", op, ErrInvalid, err)
	}
	next := make([]time.Time, 0, n)
	for range n {
		d, ok := times.Next(after)
		if !ok {
			break
		}
		next, after = append(next, d.Time), d.Time
	}
	return next, nil
}

// stored returns the specification in the form that schedules store.
func (s ScheduleSpec) stored() form.Spec {
	stored := form.Spec{
		Crons: s.Crons, At: s.At, Except: s.Except, Zone: s.Zone, From: s.From, Until: s.Until, Jitter: form.Duration(s.Jitter),
		Overlap: form.Overlap(s.Overlap), MaxRunning: s.MaxRunning,
		CatchUp:            form.CatchUp{Window: form.Duration(s.CatchUp.Window), Max: s.CatchUp.Max},
		PauseAfterFailures: s.PauseAfterFailures, Limit: s.Limit,
	}
	for _, i := range s.Every {
		stored.Every = append(stored.Every, form.Interval{Every: form.Duration(i.Every), Offset: form.Duration(i.Offset)})
	}
	return stored
}

// specOf returns a stored specification in the form of this package.
func specOf(s *form.Spec) ScheduleSpec {
	spec := ScheduleSpec{
		Crons: s.Crons, At: s.At, Except: s.Except, Zone: s.Zone, From: s.From, Until: s.Until, Jitter: time.Duration(s.Jitter),
		Overlap: ScheduleOverlap(s.Overlap), MaxRunning: s.MaxRunning,
		CatchUp:            CatchUp{Window: time.Duration(s.CatchUp.Window), Max: s.CatchUp.Max},
		PauseAfterFailures: s.PauseAfterFailures, Limit: s.Limit,
	}
	for _, i := range s.Every {
		spec.Every = append(spec.Every, ScheduleInterval{Every: time.Duration(i.Every), Offset: time.Duration(i.Offset)})
	}
	return spec
}

// MarshalJSON writes the specification with durations as texts.
func (s ScheduleSpec) MarshalJSON() ([]byte, error) { return json.Marshal(s.stored()) } //nolint:wrapcheck // the caller says what it writes

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	var stored form.Spec
	if err := json.Unmarshal(data, &stored); err != nil {
		return fmt.Errorf("specification of a schedule: %w", err)
	}
	*s = specOf(&stored)
	return nil
}
