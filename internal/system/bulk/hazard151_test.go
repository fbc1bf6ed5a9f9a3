package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/system"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Flaky always fails.
func Flaky(context.Context, orchestration.None) (int, error) { return 0, errors.New("no card reader") }

// Calls calls Flaky if it is told so, which is tried again an hour later, and else waits for an event.
func Calls(ctx *orchestration.Context, flaky bool) (int, error) {
	if flaky {
		return orchestration.CallActivity(ctx, Flaky, orchestration.None{}, orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Hour}))
	}
	return orchestration.Events[int](ctx, "go").Receive(ctx)
}

func callsRegistry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := registry(t)
	if err := errors.Join(runtime.AddOrchestration(reg, Calls), runtime.AddActivity(reg, Flaky)); err != nil {
		t.Fatal(err)
	}
	return reg
}

// callers begins instances that wait, behind n whose activity is tried again.
func (w *world) callers(flaky, healthy int) (keys []provider.UUID) {
	w.T.Helper()
	for n := range flaky + healthy {
		h, err := client.Start(w.T.Context(), w.Client, Calls, n < flaky, client.WithID(fmt.Sprint("c-", n)))
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, h.Key())
		w.Until("it waits", func() bool {
			res, err := w.Store.Get(w.T.Context(), provider.GetRequest{Key: h.Key(), WithTasks: true})
			return err == nil && res.Instance.HistoryLength > 0 &&
				(n >= flaky || len(res.Tasks) == 1 && form.Retrying(res.Tasks[0]) && res.Tasks[0].Owner == "")
		})
	}
	return keys
}

// olderNode starts a node of the release before: it has version 1 of bulk jobs only. It counts its steps.
func (w *world) olderNode(steps *atomic.Int64) *runtime.Runtime {
	w.T.Helper()
	ctx := system.With(w.T.Context(), func(code *system.Code, c *client.Client) error {
		delete(code.Orchestrations, provider.Capability{Name: reserved.Bulk, CodeVersion: form.Second})
		delete(code.Activities, reserved.NamePrefix+form.SecondStep)
		code.Activities[reserved.NamePrefix+form.Step] = bind.Activity(func(ctx context.Context, req json.RawMessage) (json.RawMessage, error) {
			steps.Add(1)
			return access.OwnStepsOf(operate.New(c)).Bulk(ctx, req, nil, func([]byte, bool) error { return nil })
		})
		return nil
	})
	opts := w.Options
	rt, err := runtime.Start(ctx, w.Store, callsRegistry(w.T), opts)
	if err != nil {
		w.T.Fatal(err)
	}
	return rt
}

// A job whose filter the release before does not know is left alone by its nodes, and says what it waits for. It is done once a node knows it.
func TestHazard151_OlderNodesActOnNothing(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	var steps atomic.Int64
	older := w.olderNode(&steps)
	defer w.Stop(older)
	keys := w.callers(1, 4)
	b := w.bulk(operate.BulkJob{Act: client.ActTerminate, Filter: client.Filter{Retrying: true}})
	w.Until("it says what it waits for", func() bool {
		info, err := b.Describe(t.Context())
		return err == nil && info.Phase == operate.BulkWaiting && strings.Contains(info.Problem, "version 2 of bulk jobs: all 1 that are listed")
	})
	first := w.bulk(operate.BulkJob{Act: client.ActSuspend}) // of the first form, so the older node does it, behind the other one
	if info := w.done(first); info.Done != 5 || steps.Load() == 0 {
		t.Errorf("%+v in %d steps, want all 5 suspended by the older node", info, steps.Load())
	}
	before := steps.Load()
	w.StartOn(w.Store, callsRegistry(t), w.Options)
	if info := w.done(b); info.Phase != operate.BulkDone || info.Done != 1 || info.Skipped+info.Failed != 0 || info.Problem != "" {
		t.Errorf("%+v, want one done", info)
	}
	if steps.Load() != before {
		t.Errorf("the older node made %d steps of the job", steps.Load()-before)
	}
	for n, key := range keys {
		if got, want := w.Get(key).Status, provider.StatusSuspended; n > 0 && got != want {
			t.Errorf("healthy instance %d is %v, want %v", n, got, want)
		}
	}
	if got := w.Get(keys[0]).Status; got != provider.StatusTerminated {
		t.Errorf("the one that retries is %v, want it terminated", got)
	}
}

// What only a later release knows of a job goes through the orchestration of this one, and its step refuses it.
func TestHazard151_TheStepRefusesWhatItDoesNotKnow(t *testing.T) {
	w := newWorld(t, 2)
	var st form.State
	if err := json.Unmarshal([]byte(`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-","Sick":true},"max":2,"soon":1}}`), &st); err != nil {
		t.Fatal(err)
	}
	for _, into := range []any{st, form.StepRequest{Job: st.Job, Key: enginetest.NewID(), Max: 2}} {
		text, err := json.Marshal(into)
		if err != nil || !strings.Contains(string(text), `"Sick":true`) || !strings.Contains(string(text), `"soon":1`) {
			t.Errorf("%T: %s %v, want it handed on whole", into, text, err)
		}
	}
	step := access.OwnStepsOf(operate.New(w.Client)).SecondBulk
	for _, request := range []string{
		`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-","Sick":true},"max":2},"max":2}`,
		`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-"},"args":{"sick":true},"max":2},"max":2}`,
		`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-","Matches":[{"Name":"a","Not":true}]},"max":2},"max":2}`,
		`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-"},"sick":true,"max":2},"max":2}`,
		`{"job":{"id":"x","act":"terminate","filter":{"IDPrefix":"c-"},"max":2},"sick":true,"max":2}`,
	} {
		_, err := step(t.Context(), []byte(request), nil, func([]byte, bool) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v, want it refused", request, err)
		}
	}
	if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-", Statuses: []client.Status{client.StatusRunning}}); err != nil || n != 2 {
		t.Errorf("%d run %v, want both", n, err)
	}
}

// bare is a store that declares no features.
type bare struct{ *memory.Provider }

func (bare) Features() provider.Features { return provider.Features{} }

// A store that would drop a field of the filter gets no job, and a step that was stored before is refused.
func TestHazard151_StoresDeclareTheFields(t *testing.T) {
	t.Parallel()
	e := enginetest.On(t, bare{memory.New(memory.Options{})}, runtime.Options{})
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	o := operate.New(w.Client)
	for _, f := range []client.Filter{{Retrying: true}, {FailureGroup: "g"}} {
		if _, err := o.StartBulk(t.Context(), operate.BulkJob{Act: client.ActTerminate, Filter: f, Max: 1}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: a job is started: %v", f, err)
		}
		if _, err := o.PreviewBulk(t.Context(), f); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: a preview: %v", f, err)
		}
		if _, err := w.List(t.Context(), f, client.Page{}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: a list: %v", f, err)
		}
		if _, err := w.CountUpTo(t.Context(), f, 1); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: a count: %v", f, err)
		}
	}
	for _, f := range []provider.Filter{{Retrying: true}, {FailureGroup: "g"}} {
		job := form.Job{ID: "stored", Act: string(client.ActTerminate), Max: 2, Filter: f}
		step, err := w.step(form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 2}, func(form.Stepped) {})
		if err != nil || step.Refused == "" || step.Total() != 0 {
			t.Errorf("%+v: %+v %v, want the step refused", f, step, err)
		}
	}
}

// An instance that retries no more is left alone, although a page of the job has it.
func TestHazard151_RetryingIsReadAtTheAct(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(callsRegistry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	keys := w.callers(3, 0)
	job := form.Job{
		ID: "again", Act: string(client.ActDelete), Args: form.Args{Force: true}, Max: 3, Filter: provider.Filter{IDPrefix: "c-", Retrying: true},
	}
	ended := false
	step, err := w.step(form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 3}, func(form.Stepped) {
		if ended {
			return
		}
		ended = true // before the first act, which is on the newest
		h := client.HandleOf[int](w.Client, "c-0", keys[0])
		d, err := h.Describe(t.Context())
		if err == nil {
			err = h.Activity(d.Ref(&d.Activities[0])).Complete(t.Context(), 1, "")
		}
		if err != nil {
			t.Error(err)
		}
		w.WaitEnded(keys[0])
	})
	if err != nil || step.Done != 2 || step.Skipped != 1 {
		t.Errorf("%+v %v, want two done and one skipped", step, err)
	}
}
