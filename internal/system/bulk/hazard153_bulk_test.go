package bulk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// stumblers begins n instances whose activity has failed, and one whose activity has not: it waits for its next attempt.
func stumblers(t *testing.T, n int) (w *world, keys []provider.UUID) {
	t.Helper()
	e := enginetest.Memory(t, runtime.Options{})
	reg := callsRegistry(t)
	if err := runtime.AddOrchestration(reg, Stumbles); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	w = &world{Engine: e, Client: e.Client(client.Options{})}
	for i := range n {
		h, err := client.Start(t.Context(), w.Client, Stumbles, 0, client.WithID(fmt.Sprint("c-s", i)))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, h.Key())
		w.Until("its activity has failed", func() bool {
			_, err := h.FindPoint(t.Context(), client.BeforeFirstFailure())
			return err == nil
		})
	}
	return w, append(keys, w.callers(1, 0)...)
}

// A job finds the point of each instance, and skips one that has none. The preview counts those. Releases that do not know kinds of points get
// another form.
func TestHazard153_AJobFindsEachPoint(t *testing.T) {
	w, keys := stumblers(t, 3)
	f := client.Filter{IDPrefix: "c-"}
	o := operate.New(w.Client)
	p, err := o.PreviewBulkTo(t.Context(), f, client.BeforeLastFailure())
	if err != nil || p.Count != 4 || p.Points == nil || *p.Points != (operate.BulkPoints{To: "last-failure", Looked: 4, Without: 1, Exact: true}) {
		t.Errorf("%+v %+v %v, want one of four without a point", p.Counted, p.Points, err)
	}
	for _, bad := range []operate.BulkJob{
		{Act: client.ActReset, To: client.BeforeLastFailure(), Point: 1},
		{Act: client.ActCancel, To: client.BeforeLastFailure()},
		{Act: client.ActReset, To: client.BeforeLastFailure().In(1)},
		{Act: client.ActReset, To: client.BeforePatch("")},
		{Act: client.ActReset},
	} {
		bad.Filter, bad.Max = f, 4
		if _, err := o.StartBulk(t.Context(), bad); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v: %v, want it refused", bad, err)
		}
	}
	if _, err := o.PreviewBulkTo(t.Context(), f, client.PointKind{}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a preview without a kind: %v", err)
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActFork, Filter: f, To: client.BeforeFirstFailure(), Prefix: "f-"})); info.Done != 3 || info.Skipped != 1 || info.Failed != 0 {
		t.Errorf("forks: %+v, want three done and one skipped", info)
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActReset, Filter: f, To: client.BeforeLastFailure()})); info.Done != 3 || info.Skipped != 1 || info.Failed != 0 {
		t.Errorf("resets: %+v, want three done and one skipped", info)
	}
	for n, key := range keys {
		if got, want := w.Get(key).Execution, int64(2); n < 3 && got != want || n == 3 && got != 1 {
			t.Errorf("instance %d is in execution %d", n, got)
		}
	}
}

// The plan of a step has the event and the execution of each point. A repeat opens what the lost attempt has planned or nothing: an instance that has left
// the execution is skipped, and one that was reset counts once.
func TestHazard152_APlanBindsThePoint(t *testing.T) {
	w, keys := stumblers(t, 2)
	job := form.Job{
		ID: "back", Act: string(client.ActReset), Args: form.Args{To: "first-failure"}, Max: 3, Filter: provider.Filter{IDPrefix: "c-"},
	}
	req := form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 3}
	var planned form.Stepped
	step, err := w.step(req, func(s form.Stepped) {
		if planned.Plan == nil {
			text, err := json.Marshal(s)
			if err == nil {
				err = json.Unmarshal(text, &planned)
			}
			if err != nil {
				t.Error(err)
			}
			// Somebody else resets one before the first act.
			h := client.HandleOf[int](w.Client, "", keys[0])
			if _, err := client.Reset(t.Context(), h, 1); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || step.Done != 1 || step.Skipped != 2 || step.Failed != 0 {
		t.Errorf("%+v %v, want one done, and skipped what was reset and what has no point", step, err)
	}
	points := 0
	for _, p := range planned.Plan {
		if p.Point != nil && p.Point.Execution == 1 && p.Point.Event > 1 {
			points++
		}
	}
	if points != 2 {
		t.Errorf("the plan is %+v", planned.Plan)
	}
	again, err := w.attempt(t.Context(), req, &planned, func(form.Stepped, bool) {})
	if err != nil || again.Done != 1 || again.Skipped != 2 || again.Failed != 0 {
		t.Errorf("repeated: %+v %v, want the same", again, err)
	}
	if a, b := w.Get(keys[0]).Execution, w.Get(keys[1]).Execution; a != 2 || b != 2 {
		t.Errorf("executions %d and %d, want each reset once", a, b)
	}
}
