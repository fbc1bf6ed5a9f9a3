package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// ScheduleOption is an option of CreateSchedule and EnsureSchedule.
type ScheduleOption interface {
	applySchedule(o *scheduleOptions)
}

type scheduleFunc func(o *scheduleOptions)

func (f scheduleFunc) applySchedule(o *scheduleOptions) { f(o) }

type scheduleOptions struct {
	paused  bool
	note    string
	version *string
}

// CreatePaused creates the schedule paused. The note is for people, at most 1 KiB, and may be empty. A schedule that exists stays as it is.
func CreatePaused(note string) ScheduleOption {
	return scheduleFunc(func(o *scheduleOptions) { o.paused, o.note = true, note })
}

// RunVersion chooses the version of the code of the runs: see orchestration.Version. Without it, runs have the version of the function, and
// runs of an orchestration that is known by name have the newest version that a node has registered at the time.
func RunVersion(version string) ScheduleOption {
	return scheduleFunc(func(o *scheduleOptions) { o.version = &version })
}

// CreateSchedule creates a schedule, which starts instances of an orchestration at the times of a specification. Each run has the input, at
// most 1 MiB as JSON, and the instance ID "<id>/<due time>", such as "nightly/2026-11-24T02:30:00Z". Code learns the due time from
// orchestration.Info.Scheduled. Each due time is started once, whatever crashes.
//
// A schedule lives in the store and runs on any node: it needs no process of its own. Its times follow the clock of the storage. The ID has 1 to
// 256 bytes of UTF-8 without NUL. The runs are instances like others, and outlive the schedule.
//
// A schedule that a principal creates starts runs only while the role of the principal may start instances: see Client.As.
//
// Errors: ErrInvalid, ErrTooLarge, ErrExists, ErrForbidden, ErrNotFinished if the store is used by nodes of an older release,
// ErrOutcomeUnknown, or the error of ctx.
func CreateSchedule[In, Out any](
	ctx context.Context, c *Client, id string, spec ScheduleSpec, fn func(*orchestration.Context, In) (Out, error), in In, opts ...ScheduleOption,
) (Schedule, error) {
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return Schedule{}, fmt.Errorf("creating schedule %s: %w: %w", check.Quote(id), ErrInvalid, err)
	}
	return c.newSchedule(ctx, id, spec, form.Action{Orchestration: ref.Name, Version: ref.Version}, in, opts)
}

// CreateScheduleNamed is CreateSchedule for an orchestration that is known by its stored name only.
func CreateScheduleNamed(ctx context.Context, c *Client, id string, spec ScheduleSpec, name string, in any, opts ...ScheduleOption) (Schedule, error) {
	return c.newSchedule(ctx, id, spec, form.Action{Orchestration: name, Newest: true}, in, opts)
}

// EnsureSchedule creates a schedule, or brings one of that ID up to date: specification, orchestration, version and input become those of the
// call. A service that declares its schedules in code calls it at each start. A schedule that is as wanted is left alone, and a paused one stays
// paused. Due times before a change are not missed ones. Options and errors are those of CreateSchedule and Schedule.Update.
func EnsureSchedule[In, Out any](
	ctx context.Context, c *Client, id string, spec ScheduleSpec, fn func(*orchestration.Context, In) (Out, error), in In, opts ...ScheduleOption,
) (Schedule, error) {
	s, err := CreateSchedule(ctx, c, id, spec, fn, in, opts...)
	if !errors.Is(err, ErrExists) {
		return s, err
	}
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return Schedule{}, fmt.Errorf("updating schedule %s: %w: %w", check.Quote(id), ErrInvalid, err)
	}
	return c.Schedule(id), c.declare(ctx, id, spec, form.Action{Orchestration: ref.Name, Version: ref.Version}, in, opts)
}

// newSchedule creates a schedule.
func (c *Client) newSchedule(
	ctx context.Context, id string, spec ScheduleSpec, action form.Action, in any, opts []ScheduleOption,
) (Schedule, error) {
	op := "creating schedule " + check.Quote(id)
	if err := cmp.Or(c.usable(ctx), checkNewScheduleID(id)); err != nil {
		return Schedule{}, fmt.Errorf("%s: %w", op, err)
	}
	st := form.State{ID: id, Spec: spec.stored(), Action: action, Principal: c.storedPrincipal(), Revision: 1}
	o, err := completeAction(&st.Action, in, opts)
	if err == nil {
		st.Paused, st.Note = o.paused, o.note
		err = cmp.Or(checkNote(o.note), c.mayStart(op), c.maySchedule(ctx))
	}
	if err == nil {
		err = c.checkSpec(ctx, &st.Spec)
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("%s: %w", op, err)
	}
	create := startOptions{id: reserved.SchedulePrefix + id, policy: provider.IDReplaceEnded, system: true}
	req, err := create.request(ctx, c, reserved.Schedule, st, nil, func() (int64, string, error) {
		return c.allowed(ctx, false), scheduleVersion, nil
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{
		Kind: string(ActSchedule), Op: op, On: access.Target{ID: req.ID}, Other: scheduleName(id), Detail: "create: " + action.Orchestration,
		RequestID: req.RequestID, System: true,
	}
	err = c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		t, err := c.storeStart(ctx, reserved.Schedule, op, &create, req)
		a.On.Key = t.Key
		return err
	})
	if errors.Is(err, ErrExists) {
		return Schedule{}, fmt.Errorf("%s: %w: use another ID, or client.EnsureSchedule to bring it up to date", op, ErrExists)
	}
	if err != nil {
		return Schedule{}, err
	}
	return c.Schedule(id), nil
}

// completeAction applies the options and encodes the input.
func completeAction(a *form.Action, in any, opts []ScheduleOption) (o scheduleOptions, err error) {
	err = bind.Apply(opts, func(opt ScheduleOption) error {
		opt.applySchedule(&o)
		return nil
	})
	if err != nil {
		return o, access.Invalid(err)
	}
	if o.version != nil {
		a.Version, a.Newest = *o.version, false
	}
	if err := access.Name("orchestration name", a.Orchestration); err != nil {
		return o, err
	}
	if err := access.Invalid(check.OptionalName("version", a.Version)); err != nil {
		return o, err
	}
	if reserved.Name(a.Orchestration) {
		return o, fmt.Errorf("%w: names that begin with %s belong to perdure itself: give that of an orchestration of yours", ErrInvalid, reserved.NamePrefix)
	}
	a.Input, err = access.Encode("input", in)
	if err == nil && len(a.Input) > form.MaxInput {
		err = fmt.Errorf("%w: input has %d bytes: at most %d fit; store the data elsewhere and pass a reference", ErrTooLarge, len(a.Input), form.MaxInput)
	}
	return o, err
}

// declare brings a schedule up to date.
func (c *Client) declare(ctx context.Context, id string, spec ScheduleSpec, action form.Action, in any, opts []ScheduleOption) error {
	op := "updating schedule " + check.Quote(id)
	if _, err := completeAction(&action, in, opts); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	change := form.Change{Spec: spec.stored(), Action: &action, Principal: c.storedPrincipal()}
	s := c.Schedule(id)
	now, err := s.specified(ctx, op)
	if err == nil && now != nil && now.as(&change) {
		return nil
	}
	if err == nil {
		err = cmp.Or(checkChange(&change.Spec, now), c.mayStart(op))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	_, err = steerSchedule[int64](ctx, s, op, form.UpdateChange, "declare: "+action.Orchestration, change)
	return err
}

// as reports whether a schedule is as a change wants it.
func (v *scheduleRow) as(c *form.Change) bool {
	if v.view.Revision == 0 || v.view.Action.Orchestration != c.Action.Orchestration || v.view.Action.Version != c.Action.Version ||
		v.view.Action.Newest != c.Action.Newest || v.view.InputSum != form.Sum(c.Action.Input) {
		return false
	}
	stored, err := json.Marshal(v.view.Spec)
	wanted, err2 := json.Marshal(c.Spec)
	return err == nil && err2 == nil && bytes.Equal(stored, wanted)
}
