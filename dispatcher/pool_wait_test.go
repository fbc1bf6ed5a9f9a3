package dispatcher

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
)

// A place that gets free after the loop has looked at its pools, and before it is parked, ends the wait at once.
func TestPlaceFreedBeforeTheWait(t *testing.T) {
	t.Parallel()
	name := ActivityName{"default", "hash"}
	p := newPools(&Config{
		Activities: map[string]map[string]activity.Func{name.Queue: {name.Name: nil}},
		Limits:     []Limit{{Size: 1, Activities: []ActivityName{name}}},
	})
	a := &attempt{call: &history.ActivityScheduled{Queue: name.Queue, Name: name.Name}}
	p.take(a)
	full := p.offers(10)
	if len(full.looks) != 0 || len(full.park.queues) != 0 {
		t.Errorf("a full pool is offered: %+v", full)
	}
	p.give(a)
	ctx, stop := p.wait(t.Context(), full)
	defer stop()
	if !errors.Is(context.Cause(ctx), errRoom) {
		t.Errorf("the wait goes on: %v", context.Cause(ctx))
	}
	if o := p.offers(10); len(o.looks) != 1 || o.looks[0].limit != 1 || o.park.limit != 1 {
		t.Errorf("offered is %+v", o)
	}
}
