package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A timeline moves the clocks of both sides and relates their instants.
type timeline struct {
	model   *side
	subject *side
	clock   *memory.Clock       // of the model
	advance func(time.Duration) // of the subject; nil: its time passes by itself
}

// pass moves the clocks forward and begins the next step.
func (l *timeline) pass(ctx context.Context, by time.Duration) error {
	l.clock.Advance(by)
	switch {
	case l.advance != nil:
		l.advance(by)
	case by > tick:
		ctx, cancel := context.WithTimeout(ctx, watchdog)
		defer cancel()
		if _, err := l.subject.idle(ctx, by); err != nil {
			return fmt.Errorf("waiting for the provider's time to pass: %w", err)
		}
	}
	now := provider.TimeOf(l.clock.Now())
	l.model.marks = append(l.model.marks, mark{now, now})
	l.subject.start()
	if len(l.subject.marks) > 1 && l.advance == nil && by <= tick {
		return nil // the step begins where the last one ended
	}
	err := l.stamp(ctx)
	l.subject.marks[len(l.subject.marks)-1].from = l.subject.last()
	return err
}

// stamp reads the subject's clock after a call.
func (l *timeline) stamp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchdog)
	defer cancel()
	now, err := l.subject.now(ctx)
	if err != nil {
		return fmt.Errorf("reading the provider's clock: %w", err)
	}
	l.subject.marks[len(l.subject.marks)-1].to = now
	return nil
}

// slack is the largest difference between the two clocks of a store, for instants and for leases.
const slack = provider.Time(tick / time.Microsecond)

// behind is how far the clock of one handle may be behind that of another: a handle may count on from a reading that reached it
// late.
const behind = provider.Time(100 * time.Millisecond / time.Microsecond)

// parted describes how an instant of the provider differs from the model's; "" if they agree.
func (l *timeline) parted(want, got provider.Time) string {
	if want == provider.HeldUntil {
		if got != want {
			return fmt.Sprintf("want HeldUntil, got %d", got)
		}
		return ""
	}
	step, after, ok := l.place(want)
	if !ok {
		return fmt.Sprintf("the model's instant %d belongs to no step", want)
	}
	of := l.subject.marks[step]
	if from, to := of.from.Add(after), of.to.Add(after); got < from-l.early() || got > to+slack {
		return fmt.Sprintf("want %s, got %v after the start of that", l.explain(want), got.Sub(from))
	}
	return ""
}

// early is how much earlier than its step an instant of the subject may be.
func (l *timeline) early() provider.Time {
	if len(l.subject.handles) > 1 {
		return behind
	}
	return slack
}

// place returns the step of an instant of the model, and how much later than the step it is. A carried message may be some
// microseconds earlier than another one.
func (l *timeline) place(t provider.Time) (step int, after time.Duration, ok bool) {
	for step, m := range slices.Backward(l.model.marks) {
		for _, after := range []time.Duration{0, short, long, -long} {
			if ahead := t.Sub(m.from.Add(after)); ahead <= 0 && ahead > -tick/4 {
				return step, after + ahead, true
			}
		}
	}
	return 0, 0, false
}

// explain names an instant of the model.
func (l *timeline) explain(t provider.Time) string {
	if t == provider.HeldUntil {
		return "HeldUntil"
	}
	step, after, ok := l.place(t)
	if !ok {
		return "?"
	}
	text := "now"
	if ago := len(l.model.marks) - 1 - step; ago > 0 {
		text = fmt.Sprintf("%d steps ago", ago)
	}
	if after != 0 {
		text += "+" + durationName(after)
	}
	return text
}
