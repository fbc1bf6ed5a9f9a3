package dispatcher

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// A place that gets free after the loop has looked at its pools, and before it is parked, ends the wait at once.
func TestPlaceFreedBeforeTheWait(t *testing.T) {
	t.Parallel()
	name := ActivityName{"default", "hash"}
	p := newPools([]provider.QueueFilter{{Queue: name.Queue, Names: []string{name.Name}}},
		[]Limit{{Size: 1, Activities: []ActivityName{name}}})
	a := &attempt{call: &history.ActivityScheduled{Queue: name.Queue, Name: name.Name}}
	p.take(a)
	looks, park, freed := p.offers(10)
	if len(looks) != 0 || len(park.queues) != 0 {
		t.Errorf("a full pool is offered: %+v, %+v", looks, park)
	}
	p.give(a)
	ctx, stop := p.wait(t.Context(), freed)
	defer stop()
	if !errors.Is(context.Cause(ctx), errRoom) {
		t.Errorf("the wait goes on: %v", context.Cause(ctx))
	}
	if looks, park, _ = p.offers(10); len(looks) != 1 || looks[0].limit != 1 || park.limit != 1 {
		t.Errorf("offered are %+v, %+v", looks, park)
	}
}
