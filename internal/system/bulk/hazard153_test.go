package bulk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Stumbles calls an activity that fails, waits for an event, marks a patch, and does so again. Then it continues as new with each event.
func Stumbles(ctx *orchestration.Context, n int) (int, error) {
	for range 2 {
		_, _ = orchestration.CallActivity(ctx, Flaky, orchestration.None{}, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 1}))
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return n, err
		}
		ctx.Patched("better")
	}
	if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
		return n, err
	}
	return n, orchestration.ContinueAsNew(ctx, n+1)
}

// Each kind of point finds its event, says what is lost and what runs again, and is one to which the instance can be reset. After a
// continue-as-new the reset is refused.
func TestHazard153_PointsAreFoundInTheHistory(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	reg := callsRegistry(t)
	if err := runtime.AddOrchestration(reg, Stumbles); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	h, err := client.Start(t.Context(), w.Client, Stumbles, 0, client.WithID("c-0"))
	if err != nil {
		t.Fatal(err)
	}
	failed := func(want int) (all []client.HistoryEvent) {
		t.Helper()
		w.Until("an activity has failed", func() bool {
			all = nil
			n := 0
			for event, err := range h.History(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if all = append(all, event); event.Kind == "ActivityFailed" {
					n++
				}
			}
			return n == want
		})
		return all
	}
	failed(1)
	if _, err := h.FindPoint(t.Context(), client.BeforePatch("better")); !errors.Is(err, client.ErrNoPoint) || errors.Is(err, client.ErrNotFound) {
		t.Errorf("a point before a patch that is not there: %v", err)
	}
	if err := h.Raise(t.Context(), "go", 1); err != nil {
		t.Fatal(err)
	}
	all := failed(2)
	event := func(kind string, last bool) (found client.HistoryEvent) {
		for _, one := range all {
			if one.Kind == kind && (found.ID == 0 || last) {
				found = one
			}
		}
		return found
	}
	first, second, raised := event("ActivityFailed", false), event("ActivityFailed", true), event("EventReceived", false)
	for _, c := range []struct {
		kind     client.PointKind
		want     int64
		rerun    int64 // event that scheduled it; 0: none
		received int64
	}{
		{client.BeforeFirstFailure(), first.ID, first.Ref, 1},
		{client.BeforeLastFailure(), second.ID, second.Ref, 0},
		{client.BeforePatch("better"), raised.ID, 0, 1},
		{client.BeforeTime(raised.Time), raised.ID, 0, 1},
		{client.BeforeTime(all[0].Time), 1, 0, 1},
		{client.BeforeEvent(second.ID), second.ID, second.Ref, 0},
		{client.BeforeEvent(int64(len(all)) + 1), int64(len(all)) + 1, 0, 0},
	} {
		text, err := c.kind.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		kind, err := client.ParsePointKind(string(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.FindPoint(t.Context(), kind)
		if err != nil || p.Event != c.want || p.Execution != 1 || p.Lost != int64(len(all))-c.want+1 || p.Received != c.received {
			t.Errorf("%v: %+v %v, want event %d of %d", c.kind, p, err, c.want, len(all))
		}
		if (len(p.Reruns) > 0) != (c.rerun > 0) || c.rerun > 0 && p.Reruns[0].EventID != c.rerun {
			t.Errorf("%v: %+v runs again, want event %d", c.kind, p.Reruns, c.rerun)
		}
		if _, err := client.Fork(t.Context(), h, p.Event, "c-fork "+c.kind.String(), client.InExecution(p.Execution)); err != nil {
			t.Errorf("%v: %v", c.kind, err)
		}
	}
	for _, bad := range []client.PointKind{{}, client.BeforePatch(""), client.BeforeTime(time.Time{}), client.BeforeEvent(0), client.BeforeLastFailure().In(0)} {
		if _, err := h.FindPoint(t.Context(), bad); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%v: %v, want it refused", bad, err)
		}
	}
	if _, err := h.FindPoint(t.Context(), client.BeforeTime(w.stamp().Add(time.Hour))); !errors.Is(err, client.ErrNoPoint) {
		t.Errorf("a point before a time to come: %v", err)
	}
	for _, early := range []time.Time{time.Unix(1, 0), all[0].Time.Add(-time.Microsecond)} { // it is not event 1, which starts it anew
		if p, err := h.FindPoint(t.Context(), client.BeforeTime(early)); !errors.Is(err, client.ErrNoPoint) {
			t.Errorf("a point before the execution: %+v %v", p, err)
		}
	}
	for _, n := range []int64{first.Ref, int64(len(all)) + 2} { // not a message, and not in the history
		if p, err := h.FindPoint(t.Context(), client.BeforeEvent(n)); !errors.Is(err, client.ErrNoPoint) {
			t.Errorf("the point before event %d: %+v %v", n, p, err)
		}
	}
	if _, err := h.FindPoint(t.Context(), client.BeforeLastFailure().In(2)); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a point of an execution to come: %v", err)
	}
	for _, bad := range []string{"", "first", "patch", "patch=", "time", "time=", "time=never", "event=", "event=x", "event=0", "first-failure=1"} {
		if _, err := client.ParsePointKind(bad); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("the kind %q: %v", bad, err)
		}
	}
	p, err := h.FindPoint(t.Context(), client.BeforeLastFailure())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.Raise(t.Context(), "go", 1); err != nil {
			t.Fatal(err)
		}
	}
	w.Until("it has continued as new", func() bool { return w.Get(h.Key()).Execution == 2 })
	if _, err := client.Reset(t.Context(), h, p.Event, client.InExecution(p.Execution)); !errors.Is(err, client.ErrSuperseded) {
		t.Errorf("a reset to the point of the execution before: %v", err)
	}
	if again, err := h.FindPoint(t.Context(), client.BeforeLastFailure().In(1)); err != nil || again.Event != p.Event || again.Execution != 1 {
		t.Errorf("the point of the execution before: %+v %v, want event %d", again, err, p.Event)
	}
}

// stamp is the time of the store.
func (w *world) stamp() time.Time {
	w.T.Helper()
	now, err := w.Client.Now(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return now
}
