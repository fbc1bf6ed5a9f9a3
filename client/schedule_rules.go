package client

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
)

// scheduleVersion is the version of the schedules' orchestration that new schedules begin with.
const scheduleVersion = "1"

func scheduleName(id string) string { return "schedule " + check.Quote(id) }

// checkScheduleID refuses what cannot be the ID of a schedule.
func checkScheduleID(id string) error {
	if err := access.Name("schedule ID", id); err != nil {
		return err
	}
	if len(id) > form.MaxID {
		return fmt.Errorf("%w: schedule ID %s has %d bytes: shorten it to %d", ErrInvalid, check.Quote(id), len(id), form.MaxID)
	}
	if reserved.ID(id) {
		return fmt.Errorf("%w: IDs that begin with %s belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	}
	return nil
}

// checkNewScheduleID also refuses an ID whose runs would have IDs of perdure itself. Releases before took it, so the schedule may be there.
func checkNewScheduleID(id string) error {
	if err := checkScheduleID(id); err != nil {
		return err
	}
	if reserved.ID(id + "/") {
		return fmt.Errorf("%w: the IDs of its runs would begin with %s, and those belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	}
	return nil
}

func checkNote(note string) error {
	if len(note) > form.MaxNote {
		return fmt.Errorf("%w: the note has %d bytes: shorten it to %d", ErrTooLarge, len(note), form.MaxNote)
	}
	return access.Invalid(check.Text("note", note))
}

// checkSpec refuses a specification that is not allowed, or names no time from now on by the storage's clock. Its bounds may begin later.
func (c *Client) checkSpec(ctx context.Context, s *form.Spec) error {
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	return access.Invalid(s.Check(now.Std()))
}

// checkChange is checkSpec for a schedule that is there. Jitter may delay a start that is due already.
func checkChange(s *form.Spec, was *scheduleRow) error {
	return access.Invalid(s.Check(was.now.Add(-time.Duration(was.view.Spec.Jitter))))
}

// storedPrincipal returns the principal in the form that schedules store.
func (c *Client) storedPrincipal() *form.Principal {
	if c.principal == nil {
		return nil
	}
	return &form.Principal{Name: c.principal.Name, Role: c.principal.Role.String()}
}

// mayStart refuses a schedule whose principal could not start its runs.
func (c *Client) mayStart(op string) error {
	return c.caller.May(&access.Act{Kind: string(ActStart), Op: op})
}

// maySchedule refuses schedules on a store that older nodes may still use.
func (c *Client) maySchedule(ctx context.Context) error {
	level := c.allowed(ctx, false)
	if level < replay.LevelOfReach {
		ctx, cancel := c.store.Bound(ctx)
		defer cancel()
		var err error
		if level, err = c.level.Again(ctx); err != nil && level < replay.LevelOfReach {
			return fmt.Errorf("looking whether the store allows schedules: %w", err)
		}
	}
	if level < replay.LevelOfReach {
		return fmt.Errorf("%w: schedules need engine level %d, the store allows %d: start a node if the database is new, else run "+
			"`perdure upgrade --finish` when all nodes are new", ErrNotFinished, replay.LevelOfReach, level)
	}
	return nil
}
