package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
)

// tries bounds how often Update tries again after changes of others.
const tries = 5

// Update changes the specification: change gets the present one and may alter it. If somebody else changes the schedule meanwhile, change is
// called again. Due times before the change are not missed ones. Those that jitter delays beyond the change still start, if the new specification
// names them, too. Directly after the creation, Update waits for a node to run the schedule.
//
// Errors: ErrInvalid, ErrNotFound, ErrForbidden, ErrNoNode, ErrNotFinished, ErrOutcomeUnknown, the error of change, or the error of ctx.
func (s Schedule) Update(ctx context.Context, change func(*ScheduleSpec) error) error {
	op := "updating " + scheduleName(s.id)
	if change == nil {
		return fmt.Errorf("%s: %w: there is no change: give a function", op, ErrInvalid)
	}
	if err := s.may(ctx, op); err != nil {
		return err
	}
	for try := 1; ; try++ {
		row, err := s.specified(ctx, op)
		if err != nil {
			return err
		}
		spec := specOf(&row.view.Spec)
		if err := change(&spec); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		c := form.Change{Revision: row.view.Revision, Spec: spec.stored()}
		if err := checkChange(&c.Spec, row); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		_, err = steerSchedule[int64](ctx, s, op, form.UpdateChange, "update", c)
		if try == tries || err == nil || !strings.Contains(err.Error(), form.Conflict) {
			return err
		}
	}
}

// Pause stops the schedule: no due time starts a run. Runs that go on are not touched. A start that waits for one is skipped. The note is for people,
// at most 1 KiB, and may be empty.
func (s Schedule) Pause(ctx context.Context, note string) error {
	return s.note(ctx, "pausing "+scheduleName(s.id), form.UpdatePause, note)
}

// Resume lets a paused schedule go on. What would have started in the pause is not caught up. Resume of one that is not paused sets the note only.
func (s Schedule) Resume(ctx context.Context, note string) error {
	return s.note(ctx, "resuming "+scheduleName(s.id), form.UpdateResume, note)
}

func (s Schedule) note(ctx context.Context, op, update, note string) error {
	if err := checkNote(note); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	_, err := steerSchedule[struct{}](ctx, s, op, update, update+": "+note, form.Pause{Note: note})
	return err
}

// Triggered is the outcome of a trigger.
type Triggered struct {
	Run    *ScheduleRun `json:"run,omitempty"` // nil: none was started
	Due    time.Time    `json:"due"`           // the time of the trigger
	Reason string       `json:"reason,omitempty"`
	Detail string       `json:"detail,omitempty"` // such as the ID of the run that goes on
}

// Trigger starts a run now, also while the schedule is paused. The overlap holds: Triggered.Reason says why no run was started. The ID of the
// run ends with a UUID, so that it differs from that of a due time.
func (s Schedule) Trigger(ctx context.Context) (Triggered, error) {
	id := uuid.NewString()
	t, err := steerScheduleAs[form.Triggered](ctx, s, "triggering "+scheduleName(s.id), form.UpdateTrigger, "trigger", id, form.Trigger{Update: id})
	if err != nil {
		return Triggered{}, err
	}
	out := Triggered{Due: t.Due, Reason: t.Reason, Detail: t.Detail}
	if t.Run.Key != "" {
		out.Run = new(runOf(&t.Run))
	}
	return out, nil
}

// Backfill starts runs for the due times from one moment of the past to another, both inclusive, whether they had a run or not. It returns how many there are,
// at most 1,000. They start one after the other, oldest first, as the overlap allows, also while the schedule is paused. Their IDs end with a
// UUID. A due time of the schedule is skipped while a run of a backfill goes on, unless the overlap allows both.
func (s Schedule) Backfill(ctx context.Context, from, to time.Time) (int, error) {
	op := "backfilling " + scheduleName(s.id)
	if err := s.may(ctx, op); err != nil {
		return 0, err
	}
	row, err := s.specified(ctx, op)
	if err != nil {
		return 0, err
	}
	n, err := countTimes(&row.view, from, to, row.now)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	id := uuid.NewString()
	b := form.Backfill{After: from.UTC().Add(-time.Nanosecond), To: to.UTC(), Update: id, Left: n}
	detail := fmt.Sprintf("backfill: %s to %s", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	_, err = steerScheduleAs[struct{}](ctx, s, op, form.UpdateBackfill, detail, id, b)
	return n, err
}

// may refuses who has no right to steer schedules, before what is asked for is judged.
func (s Schedule) may(ctx context.Context, op string) error {
	if err := s.c.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return s.c.caller.May(&access.Act{Kind: string(ActSchedule), Op: op})
}

// countTimes counts the due times of a backfill.
func countTimes(v *form.View, from, to, now time.Time) (n int, err error) {
	if to.Before(from) {
		return 0, fmt.Errorf("%w: it ends (%v) before it begins (%v): swap them", ErrInvalid, to, from)
	}
	if to.After(now) {
		return 0, fmt.Errorf("%w: it ends at %v, which is to come: end it at %v or before", ErrInvalid, to, now)
	}
	times, err := form.Compile(v.ID, &v.Spec)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for after := from.Add(-time.Nanosecond); ; n++ {
		d, ok := times.Next(after)
		if !ok || d.Time.After(to) {
			break
		}
		if n == form.MaxBackfill {
			return 0, fmt.Errorf("%w: it has more than %d due times: give a shorter stretch", ErrTooLarge, form.MaxBackfill)
		}
		after = d.Time
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: it has no due time: widen it", ErrInvalid)
	}
	return n, nil
}

// scheduleDeleted is why the instance of a deleted schedule has ended.
const scheduleDeleted = "the schedule was deleted"

// Delete ends the schedule. It needs no node. Runs that go on are not touched. The ID can be used again.
//
// Errors: ErrNotFound, ErrForbidden, ErrOutcomeUnknown, or the error of ctx.
func (s Schedule) Delete(ctx context.Context) error {
	op := "deleting " + scheduleName(s.id)
	row, err := s.stored(ctx, op)
	if err != nil {
		return err
	}
	a := access.Act{
		Kind: string(ActSchedule), Op: op, On: access.Target{ID: reserved.SchedulePrefix + s.id, Key: row.key}, Other: scheduleName(s.id),
		Detail: scheduleDeleted, System: true,
	}
	err = s.c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		if err := s.c.terminateNow(ctx, &a); err != nil {
			return err
		}
		// It is over now. Only its history is left, which a store without Cleaner keeps.
		if _, err := s.c.deleteNow(ctx, &a, deleteOptions{}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			s.c.store.Logger.WarnContext(ctx, "the history of a deleted schedule is still there", "schedule", s.id, "error", err)
		}
		return nil
	})
	if errors.Is(err, ErrEnded) {
		return fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	return err
}

// steerSchedule sends an update to the schedule and waits for its output.
func steerSchedule[Out any](ctx context.Context, s Schedule, op, update, detail string, in any) (Out, error) {
	return steerScheduleAs[Out](ctx, s, op, update, detail, uuid.NewString(), in)
}

// steerScheduleAs is steerSchedule with an ID for the update.
func steerScheduleAs[Out any](ctx context.Context, s Schedule, op, update, detail, id string, in any) (out Out, err error) {
	if err := s.may(ctx, op); err != nil {
		return out, err
	}
	key, err := s.key(ctx, op)
	if err != nil {
		return out, err
	}
	if err := cmp.Or(s.c.maySchedule(ctx), s.c.needScheduler(ctx)); err != nil {
		return out, fmt.Errorf("%s: %w", op, err)
	}
	o := updateOptions{id: id, chosen: true, system: true, kind: ActSchedule, detail: detail, other: scheduleName(s.id)}
	t := access.Target{ID: reserved.SchedulePrefix + s.id, Key: key}
	u, err := s.c.update(ctx, t, update, in, &o)
	if err == nil {
		out, err = UpdateHandle[Out]{c: s.c, t: t, of: u}.wait(ctx, waitOptions{blocked: true})
	}
	switch {
	case errors.Is(err, ErrEnded):
		return out, fmt.Errorf("%s: %w: it was deleted", op, ErrNotFound)
	case err != nil:
		return out, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}
