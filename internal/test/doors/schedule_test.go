package doors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
)

// makingSchedules has the doors of schedules.
func makingSchedules() section {
	return section{
		title: "CreateSchedule, EnsureSchedule and Schedule",
		intro: "`CreateScheduleNamed` and `EnsureSchedule` behave the same. Nothing is stored. `NextTimes` refuses the same specifications. No schedule exists.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			every := func(d time.Duration) client.ScheduleSpec {
				return client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: d}}}
			}
			create := func(id, name string, spec client.ScheduleSpec, in any, opts ...client.ScheduleOption) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := client.CreateScheduleNamed(ctx, c, id, spec, name, in, opts...)
					return err
				}
			}
			spec := func(change func(s *client.ScheduleSpec)) func(context.Context) error {
				s := every(time.Hour)
				change(&s)
				return create("s", "Report", s, nil)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			return []row{
				{"an empty ID", create("", "Report", every(time.Hour), nil), clientInvalid, `creating schedule "": invalid request: schedule ID is empty: give 1 to 512 bytes of UTF-8`, "If IDs come from configuration, check that it is set."},
				{"an ID of 257 bytes", create(strings.Repeat("x", 257), "Report", every(time.Hour), nil), clientInvalid, `creating schedule "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: invalid request: schedule ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 257 bytes: shorten it to 256`, "Shorten it: the due time follows it in the IDs of the runs."},
				{"a reserved ID", create("perdure/x", "Report", every(time.Hour), nil), clientInvalid, `creating schedule "perdure/x": invalid request: IDs that begin with perdure/ belong to perdure itself: choose another one`, "Choose another ID."},
				{"the ID `perdure`", create("perdure", "Report", every(time.Hour), nil), clientInvalid, `creating schedule "perdure": invalid request: the IDs of its runs would begin with perdure/, and those belong to perdure itself: choose another one`, "Choose another ID."},
				{"a reserved orchestration", create("s", "perdure.bulk", every(time.Hour), nil), clientInvalid, `creating schedule "s": invalid request: names that begin with perdure. belong to perdure itself: give that of an orchestration of yours`, "Name an orchestration of the service."},
				{"an input of more than 1 MiB", create("s", "Report", every(time.Hour), text(1<<20+1)), clientTooLarge, `creating schedule "s": too large: input has 1048577 bytes: at most 1048576 fit; store the data elsewhere and pass a reference`, "Store the data elsewhere."},
				{"a nil option", create("s", "Report", every(time.Hour), nil, nil), clientInvalid, `creating schedule "s": invalid request: an option is nil: leave it out`, "Build the list of options without holes."},
				{"a note of more than 1 KiB", create("s", "Report", every(time.Hour), nil, client.CreatePaused(strings.Repeat("x", 1<<10+1))), clientTooLarge, `creating schedule "s": too large: the note has 1025 bytes: shorten it to 1024`, "Shorten it."},
				{"no time", create("s", "Report", client.ScheduleSpec{}, nil), clientInvalid, `creating schedule "s": invalid request: it names no time: give Crons, Every or At`, "Say when it runs."},
				{"`Every` of 500 ms", create("s", "Report", every(time.Second/2), nil), clientInvalid, `creating schedule "s": invalid request: interval of 500ms: give whole seconds, at least 1s`, "Use a timer in an orchestration for a faster rhythm."},
				{"an offset of an hour in an hour", spec(func(s *client.ScheduleSpec) { s.Every[0].Offset = time.Hour }), clientInvalid, `creating schedule "s": invalid request: offset of 1h0m0s in an interval of 1h0m0s: give whole seconds, less than the interval`, "Take the rest of the division."},
				{"a cron with a wrong hour", spec(func(s *client.ScheduleSpec) { s.Crons = []string{"0 24 * * *"} }), clientInvalid, `creating schedule "s": invalid request: cron expression "0 24 * * *": hour "24": "24": give 0 to 23`, "Correct the field."},
				{"a cron with a zone", spec(func(s *client.ScheduleSpec) { s.Crons = []string{"TZ=UTC 0 2 * * *"} }), clientInvalid, `creating schedule "s": invalid request: cron expression "TZ=UTC 0 2 * * *": a time zone is in it: give the zone in the field for it`, "Use `ScheduleSpec.Zone`."},
				{"a cron of 31 February", spec(func(s *client.ScheduleSpec) { s.Crons = []string{"0 0 31 2 *"} }), clientInvalid, `creating schedule "s": invalid request: cron expression "0 0 31 2 *": no day of any year matches: correct the day or the month`, "Use `L` for the last day of a month."},
				{"an unknown zone", spec(func(s *client.ScheduleSpec) { s.Zone = "Mars/Olympus" }), clientInvalid, `creating schedule "s": invalid request: unknown time zone "Mars/Olympus": give one of the IANA database, such as "Europe/Berlin", and install that database (tzdata) or import time/tzdata`, "Use an IANA name."},
				{"`Until` before `From`", spec(func(s *client.ScheduleSpec) { s.From, s.Until = at.Add(time.Hour), at }), clientInvalid, `creating schedule "s": invalid request: it ends (Until 2026-01-01 00:00:00 +0000 UTC) before it begins (From 2026-01-01 01:00:00 +0000 UTC): swap them`, "Swap them."},
				{"`Until` in the past", spec(func(s *client.ScheduleSpec) { s.Until = at.AddDate(-10, 0, 0) }), clientInvalid, `creating schedule "s": invalid request: it names no time from now on: correct it, or the bounds From, Until and Except`, "Backfill what lies in the past."},
				{"an unknown overlap", spec(func(s *client.ScheduleSpec) { s.Overlap = "often" }), clientInvalid, `creating schedule "s": invalid request: overlap "often": give skip, buffer-one, cancel-other or allow-all`, "Use the constants."},
				{"`MaxRunning` with another overlap", spec(func(s *client.ScheduleSpec) { s.MaxRunning = 2 }), clientInvalid, `creating schedule "s": invalid request: MaxRunning 2 with overlap "": leave it out, it is for allow-all`, "Set `OverlapAllowAll`."},
				{"`Describe` of an unknown schedule", func(ctx context.Context) error {
					_, err := c.Schedule("nobody").Describe(ctx)
					return err
				}, clientNotFound, `describing schedule "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check the ID."},
				{"`Pause` of an unknown schedule", func(ctx context.Context) error { return c.Schedule("nobody").Pause(ctx, "") }, clientNotFound, `pausing schedule "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check the ID."},
				{"`Update` without a function", func(ctx context.Context) error { return c.Schedule("nobody").Update(ctx, nil) }, clientInvalid, `updating schedule "nobody": invalid request: there is no change: give a function`, "Give a function."},
				{"a zero `Schedule`", func(ctx context.Context) error { return client.Schedule{}.Delete(ctx) }, clientInvalid, `deleting schedule "": invalid request: there is no client: make one with client.New`, "Take it from `Client.Schedule`."},
				{"`NextTimes` for 0 times", func(context.Context) error {
					_, err := client.NextTimes(every(time.Hour), at, 0)
					return err
				}, clientInvalid, `computing due times: invalid request: 0 times: give 1 to 1000`, "Ask for at least one."},
				{"`NextTimes` without a time", func(context.Context) error {
					_, err := client.NextTimes(client.ScheduleSpec{}, at, 1)
					return err
				}, clientInvalid, `computing due times: invalid request: it names no time: give Crons, Every or At`, "Say when it runs."},
				{"a request ID of schedules", func(ctx context.Context) error {
					_, err := client.StartNamed[any](ctx, c, "ok", nil, client.WithID("x"), client.WithRequestID("perdure/schedule/x"))
					return err
				}, clientInvalid, `starting "ok": invalid request: request IDs that begin with perdure/ belong to perdure itself: choose another one`, "Choose another request ID."},
			}
		},
	}
}
