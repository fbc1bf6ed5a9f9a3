package programs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
)

// resettable reports whether a program may be taken back. A reset changes nothing outside of the instance. A child with an ID of its
// own cannot be started twice, nor can another instance. A child that was cancelled has ended, and nobody repeats a cancellation.
func resettable(p Program) bool {
	stays := func(kinds []string) bool { return slices.Contains(kinds, stays) }
	outside := func(s Statement) bool {
		return s.Do == doTwice || s.Do == doAway || s.Do == doChild && s.N%3 == 0 || s.Do == doRace || stays(s.Kinds)
	}
	var has func([]Statement) bool
	has = func(body []Statement) bool {
		return slices.ContainsFunc(body, func(s Statement) bool {
			return outside(s) || slices.ContainsFunc(s.Bodies, has) || s.Child != nil && !resettable(*s.Child)
		})
	}
	return !slices.ContainsFunc(p.Rounds, func(r Round) bool { return r.Cancel || stays(r.Leave) || has(r.Body) })
}

// reset takes the program back to a message of its history, a few times, while it runs. A program that has ended goes on from there.
func (r *run) reset(ctx context.Context, h client.Handle[[]string], chance *rand.Rand) error {
	for n := range chance.IntN(4) {
		if !pause(ctx, time.Duration(chance.IntN(30))*r.moment) {
			return nil
		}
		var points []int64
		for e, err := range h.History(ctx, 0) {
			if err != nil {
				break // it has not begun
			}
			points = append(points, e.ID)
		}
		if len(points) == 0 {
			continue
		}
		at := points[chance.IntN(len(points))]
		brief, cancel := context.WithTimeout(ctx, 4*r.lease)
		_, err := client.Reset(brief, h, at, client.Repeatable(fmt.Sprint("reset ", n)))
		cancel()
		switch {
		case err == nil:
			r.sum.resets.Add(1)
		case errors.Is(err, client.ErrBadPoint), errors.Is(err, client.ErrBusy), errors.Is(err, client.ErrSuperseded), errors.Is(err, client.ErrUnserved),
			brief.Err() != nil, errors.Is(err, client.ErrNotReplayed) && r.kills > 0:
		default:
			return fmt.Errorf("reset to event %d: %w", at, err)
		}
	}
	return nil
}

// resets counts the executions that a reset has opened.
func resets(ctx context.Context, h client.Handle[[]string], executions int64) (count int64, err error) {
	for n := int64(1); n <= executions; n++ {
		opened := false
		for e, err := range h.History(ctx, n) {
			if err != nil {
				return 0, err
			}
			opened = opened || e.Kind == "ForkPoint"
		}
		if opened {
			count++
		}
	}
	return count, nil
}
