package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/cron"
)

// maxExcluded bounds how many due times in a row Next looks at that exceptions exclude.
const maxExcluded = 600_000

// Due is a due time. Time is the one that the specification names, to the second. At is when the run starts: Time plus the jitter.
type Due struct {
	Time time.Time `json:"time"`
	At   time.Time `json:"at"`
}

// Times computes the due times of a specification. Many goroutines may use it at once.
type Times struct {
	id     string
	spec   *Spec
	zone   *time.Location
	crons  []*cron.Expr
	except []*cron.Expr
	at     []time.Time // sorted
}

// Compile prepares a specification, which must not change any more. The ID of the schedule decides the jitter.
func Compile(id string, s *Spec) (*Times, error) {
	zone, err := s.zone()
	if err != nil {
		return nil, err
	}
	t := &Times{id: id, spec: s, zone: zone, at: slices.Clone(s.At)}
	if t.crons, err = compileCrons(s.Crons); err != nil {
		return nil, err
	}
	if t.except, err = compileCrons(s.Except); err != nil {
		return nil, err
	}
	slices.SortFunc(t.at, time.Time.Compare)
	return t, nil
}

// Next returns the first due time after a moment. ok is false if there is none, or if exceptions exclude very many in a row.
func (t *Times) Next(after time.Time) (d Due, ok bool) {
	if from := t.spec.From.Add(-time.Nanosecond); after.Before(from) {
		after = from
	}
	for range maxExcluded {
		at, ok := t.candidate(after)
		if !ok || !t.spec.Until.IsZero() && at.After(t.spec.Until) {
			return Due{}, false
		}
		excluded, minute := t.excluded(at)
		if !excluded {
			return Due{Time: at, At: at.Add(t.jitter(at))}, true
		}
		after = at
		if minute {
			after = at.Truncate(time.Minute).Add(time.Minute - time.Second)
		}
	}
	return Due{}, false
}

// candidate returns the first time after a moment that crons, intervals or fixed times name.
func (t *Times) candidate(after time.Time) (first time.Time, ok bool) {
	offer := func(at time.Time) {
		if !at.IsZero() && (!ok || at.Before(first)) {
			first, ok = at.UTC(), true
		}
	}
	for _, e := range t.crons {
		offer(e.Next(after, t.zone))
	}
	for _, i := range t.spec.Every {
		offer(i.next(after))
	}
	if i, _ := slices.BinarySearchFunc(t.at, after.Add(time.Nanosecond), time.Time.Compare); i < len(t.at) {
		offer(t.at[i])
	}
	return first, ok
}

// next returns the first moment of the interval after a moment.
func (i Interval) next(after time.Time) time.Time {
	every, offset := int64(time.Duration(i.Every)/time.Second), int64(time.Duration(i.Offset)/time.Second)
	passed := after.Unix() - offset
	n := passed / every
	if passed%every < 0 {
		n--
	}
	return time.Unix((n+1)*every+offset, 0).UTC()
}

// excluded reports whether an exception names the moment, and whether the whole minute is excluded.
func (t *Times) excluded(at time.Time) (excluded, minute bool) {
	for _, e := range t.except {
		if matches, whole := e.Matches(at, t.zone); matches {
			return true, whole
		}
	}
	return false, false
}

// jitter follows from the schedule and the due time, so it is the same on every node.
func (t *Times) jitter(at time.Time) time.Duration {
	if t.spec.Jitter <= 0 {
		return 0
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(t.id), uint64(at.Unix())))
	millis := uint64(time.Duration(t.spec.Jitter) / time.Millisecond)
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%(millis+1)) * time.Millisecond
}
