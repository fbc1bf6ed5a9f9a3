package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// wordOf returns the event that the test sends for a round.
func wordOf(p churn.Plan, round int) uint64 { return p.Seed*1000 + uint64(round) }

// implied computes the outcome of a plan independently of the code that runs it.
func implied(p churn.Plan) uint64 {
	sum := uint64(0)
	for round := range p.Rounds {
		parts := partsOf(p, round)
		for i := range parts {
			for _, v := range parts[(i+int(p.Seed)+round)%len(parts)] {
				sum = sum*31 + v
			}
		}
	}
	return sum
}

// partsOf returns the values of a round's parts before they are rotated.
func partsOf(p churn.Plan, round int) [7][]uint64 {
	value := func(step int) uint64 { return (p.Seed<<20 + uint64(round)<<10 + uint64(step)) * 2654435761 }
	var sequence, fan, haul, broken []uint64
	for step := range p.Steps {
		sequence = append(sequence, value(step))
	}
	for i := range p.Width {
		fan = append(fan, value(100+i))
	}
	if p.Haul > 0 && round == 0 {
		haul = []uint64{value(300)}
	}
	if p.Seed%5 == 0 {
		broken = []uint64{400}
	}
	return [7][]uint64{sequence, fan, haul, {1}, {wordOf(p, round)}, {value(200) ^ value(201)}, broken}
}

// fate is the expected end of a plan.
type fate struct {
	status provider.Status
	sum    uint64 // if it completes
	err    error  // otherwise, as a client sees it
}

func (o *course) fate() fate {
	switch {
	case o.plan.End == churn.EndBroken:
		return fate{status: provider.StatusFailed, err: churn.ErrBroken}
	case o.plan.End == churn.EndWell:
		return fate{status: provider.StatusCompleted, sum: implied(o.plan)}
	case o.plan.Seed%10 == cancelled:
		return fate{status: provider.StatusCancelled, err: orchestration.ErrCancelled}
	default:
		return fate{status: provider.StatusTerminated, err: orchestration.ErrTerminated}
	}
}

// check waits for the end of a plan as a client does.
func (o *course) check(ctx context.Context) error {
	want := o.fate()
	got, err := o.handle.Wait(ctx, client.OrBlocked())
	if !errors.Is(err, want.err) || got != want.sum {
		return fmt.Errorf("%s: got %d, %w; must be %+v", o.id(), got, err, want)
	}
	return nil
}
