package reserved

import (
	"strings"
	"time"
)

const (
	// Schedule is the orchestration of schedules.
	Schedule = NamePrefix + "schedule"
	// SchedulePrefix begins the IDs of schedules' instances.
	SchedulePrefix = IDPrefix + "schedule/"
)

// dueLayout is how due times are written in IDs: UTC, to the second. It never changes.
const dueLayout = "2006-01-02T15:04:05Z"

// RunID returns the instance ID of a schedule's run. more tells runs of the same due time apart; "" for the ordinary one.
func RunID(schedule string, due time.Time, more string) string {
	return join(schedule, due.UTC().Format(dueLayout), more)
}

// RunRequest returns the request ID of a run, which has the key of the schedule.
func RunRequest(key string, due time.Time, more string) string {
	return SchedulePrefix + join(key, due.UTC().Format(dueLayout), more)
}

// Run returns the schedule and the due time of an instance, if a schedule has started it.
func Run(id, request string) (schedule string, due time.Time, ok bool) {
	rest, ok := strings.CutPrefix(request, SchedulePrefix)
	if !ok {
		return "", due, false
	}
	_, rest, ok = strings.Cut(rest, "/")
	text, _, _ := strings.Cut(rest, "/")
	due, err := time.Parse(dueLayout, text)
	i := strings.LastIndex(id, "/"+rest)
	if !ok || err != nil || i < 0 {
		return "", time.Time{}, false
	}
	return id[:i], due, true
}

func join(first, second, more string) string {
	if more == "" {
		return first + "/" + second
	}
	return first + "/" + second + "/" + more
}
