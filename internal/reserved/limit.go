package reserved

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LimitAttribute is the attribute with the time limit of an instance. Its text is that of a Limit.
const LimitAttribute = NamePrefix + "limit"

// limitLayout is how due times begin the text of a limit, so that texts sort as the times do. It never changes.
const limitLayout = "2006-01-02T15:04:05.000000Z"

// MaxLimit is how long a limit and its grace may be, so that due times have a year of four digits.
const MaxLimit = 100 * 365 * 24 * time.Hour

// DefaultGrace is how long an instance may take to stop if nobody says.
const DefaultGrace = time.Minute

// A Limit says when an instance must have ended.
type Limit struct {
	Due       time.Time     // when it is asked to stop, by the storage's clock, to the microsecond
	For       time.Duration // how long it may run; Due is that much after the start
	Grace     time.Duration // how long after Due it is terminated
	Execution int64         // the only execution that Due is for; 0: the limit is for all executions together
}

// From returns the same limit for what starts at a time.
func (l Limit) From(start time.Time) Limit {
	l.Due = start.Add(l.For).UTC().Truncate(time.Microsecond)
	return l
}

// Renewed returns the limit for an execution that starts at a time.
func (l Limit) Renewed(start time.Time, execution int64) Limit {
	if l.Execution != 0 {
		l.Execution = execution
	}
	return l.From(start)
}

// String returns the text that is stored, such as "2026-11-29T15:00:00.000000Z 1h0m0s 1m0s", with the execution behind it if the limit is for one.
func (l Limit) String() string {
	text := LimitBound(l.Due) + " " + l.For.String() + " " + l.Grace.String()
	if l.Execution != 0 {
		text += " " + strconv.FormatInt(l.Execution, 10)
	}
	return text
}

// Request returns the request ID of what a limit has done to an instance with a key, the same in all processes.
func (l Limit) Request(key, act string) string {
	return IDPrefix + fmt.Sprintf("limit/%s/%d/%s", key, l.Due.UnixMicro(), act)
}

// LimitBound returns the text that sorts after all limits due before t, and before all others.
func LimitBound(t time.Time) string { return t.UTC().Format(limitLayout) }

// ParseLimit reads the text of a limit. ok is false for any other text.
func ParseLimit(text string) (l Limit, ok bool) {
	parts := strings.Fields(text)
	if len(parts) < 3 || len(parts) > 4 {
		return l, false
	}
	var errs [4]error
	l.Due, errs[0] = time.Parse(limitLayout, parts[0])
	l.For, errs[1] = time.ParseDuration(parts[1])
	l.Grace, errs[2] = time.ParseDuration(parts[2])
	if len(parts) == 4 {
		l.Execution, errs[3] = strconv.ParseInt(parts[3], 10, 64)
	}
	return l, errs == [4]error{} && l.For > 0 && l.Grace >= 0 && l.Execution >= 0
}
