package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A place that gets free after the loop has looked at its pools, and before it is parked, ends the wait at once.
func TestPlaceFreedBeforeTheWait(t *testing.T) {
	t.Parallel()
	name := flow.ActivityName{Queue: "default", Name: "hash"}
	p := flow.NewPools([]flow.Limit{{Size: 1, Activities: []flow.ActivityName{name}}}, nil,
		[]provider.QueueFilter{{Queue: name.Queue, Names: []string{name.Name}}})
	places := p.Take(name.Queue, name.Name)
	full := p.Offers(10)
	if len(full.Polls) != 0 || len(full.LongPoll.Queues) != 0 {
		t.Errorf("a full pool is offered: %+v", full)
	}
	p.Release(places)
	ctx, stop := p.Wait(t.Context(), full)
	defer stop()
	if !errors.Is(context.Cause(ctx), flow.ErrRoom) {
		t.Errorf("the wait goes on: %v", context.Cause(ctx))
	}
	if o := p.Offers(10); len(o.Polls) != 1 || o.Polls[0].Limit != 1 || o.LongPoll.Limit != 1 {
		t.Errorf("offered is %+v", o)
	}
}
