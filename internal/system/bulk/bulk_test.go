package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Collects counts the events "go" until "end" comes.
func Collects(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	got, end := orchestration.Events[int](ctx, "go"), orchestration.Events[int](ctx, "end")
	for n := 0; ; n++ {
		ctx.SetStatus(n)
		first, err := orchestration.Select(ctx, got, end)
		if err != nil || first == 1 {
			return n, err
		}
		if _, err := got.Receive(ctx); err != nil {
			return n, err
		}
	}
}

func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Collects); err != nil {
		t.Fatal(err)
	}
	return reg
}

// world is a node with instances that collect events.
type world struct {
	*enginetest.Engine
	*client.Client

	handles []client.Handle[int]
}

func newWorld(t *testing.T, n int) *world {
	t.Helper()
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(registry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	w.begin(n)
	return w
}

func (w *world) begin(n int) {
	w.T.Helper()
	for k := range n {
		h, err := client.Start(w.T.Context(), w.Client, Collects, orchestration.None{}, client.WithID(fmt.Sprint("c-", k)))
		if err != nil {
			w.T.Fatal(err)
		}
		w.handles = append(w.handles, h)
	}
}

// bulk starts a job on all instances of the test.
func (w *world) bulk(job operate.BulkJob) operate.Bulk {
	w.T.Helper()
	job.Filter.IDPrefix = "c-"
	p, err := operate.New(w.Client).PreviewBulk(w.T.Context(), job.Filter)
	if err != nil {
		w.T.Fatal(err)
	}
	job.Before, job.Max = p.At, max(p.Count, 1)
	b, err := operate.New(w.Client).StartBulk(w.T.Context(), job)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// step makes one step of a job.
func (w *world) step(req form.StepRequest, heartbeat func(form.Stepped)) (done form.Stepped, err error) {
	w.T.Helper()
	return w.attempt(w.T.Context(), req, nil, func(done form.Stepped, _ bool) { heartbeat(done) })
}

// attempt makes one attempt of a step, from what an attempt before has stored.
func (w *world) attempt(
	ctx context.Context, req form.StepRequest, from *form.Stepped, heartbeat func(done form.Stepped, store bool),
) (done form.Stepped, err error) {
	w.T.Helper()
	read := func(text []byte) (done form.Stepped) {
		if err := json.Unmarshal(text, &done); err != nil {
			w.T.Error(err)
		}
		return done
	}
	request, err := json.Marshal(req)
	if err != nil {
		return done, err
	}
	var before []byte
	if from != nil {
		if before, err = json.Marshal(from); err != nil {
			return done, err
		}
	}
	text, err := access.OwnStepsOf(operate.New(w.Client)).Bulk(ctx, request, before, func(text []byte, store bool) error {
		heartbeat(read(text), store)
		return ctx.Err()
	})
	if err != nil {
		return done, err
	}
	return read(text), nil
}

// done waits for the end of a job.
func (w *world) done(b operate.Bulk) (info operate.BulkInfo) {
	w.T.Helper()
	w.Until("the job is over", func() bool {
		var err error
		if info, err = b.Describe(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		return info.Over()
	})
	return info
}

// counted returns how many events each instance has taken.
func (w *world) counted() map[int]int {
	w.T.Helper()
	counts := map[int]int{}
	for _, h := range w.handles {
		if err := h.Raise(w.T.Context(), "end", 1); err != nil {
			w.T.Fatal(err)
		}
		n, err := h.Wait(w.T.Context())
		if err != nil {
			w.T.Fatal(err)
		}
		counts[n]++
	}
	return counts
}

func TestRaise(t *testing.T) {
	w := newWorld(t, 250)
	info := w.done(w.bulk(operate.BulkJob{Act: client.ActRaise, Event: "go", Payload: 1}))
	if info.Phase != operate.BulkDone || info.Done != 250 || info.Skipped+info.Failed != 0 {
		t.Errorf("%+v, want 250 done", info)
	}
	if got := w.counted(); got[1] != 250 {
		t.Errorf("events taken: %v, want one by each of 250", got)
	}
}

// The acts of a job on instances, and what they report.
func TestActs(t *testing.T) {
	w := newWorld(t, 4)
	w.begun() // one that has not cannot be restarted
	is := func(act client.Act, filter client.Filter, done, skipped int64) {
		t.Helper()
		job := w.bulk(operate.BulkJob{Act: act, Filter: filter, Reason: "why", Version: "", Force: true})
		info := w.done(job)
		if info.Phase != operate.BulkDone || info.Done != done || info.Skipped != skipped || info.Failed != 0 {
			t.Errorf("%s: %+v, want %d done and %d skipped", act, info, done, skipped)
			for f, err := range job.Failures(t.Context()) {
				t.Errorf("failed: %+v, %v", f, err)
			}
		}
	}
	running := client.Filter{Statuses: []client.Status{client.StatusRunning}}
	is(client.ActSuspend, running, 4, 0)
	is(client.ActResume, client.Filter{Statuses: []client.Status{client.StatusSuspended}}, 4, 0)
	is(client.ActUnblock, running, 0, 4)
	is(client.ActMove, running, 0, 4)
	is(client.ActRedrive, running, 0, 4)
	is(client.ActTerminate, running, 4, 0)
	is(client.ActCancel, client.Filter{}, 0, 4)
	is(client.ActRestart, client.Filter{}, 4, 0)
	w.Until("they run again", func() bool {
		n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-", Statuses: running.Statuses})
		return err == nil && n == 4
	})
	is(client.ActCancel, running, 4, 0)
	is(client.ActDelete, client.Filter{}, 4, 0)
}

// A job is stopped, and resumed by another node.
func TestStopAndResume(t *testing.T) {
	w := newWorld(t, 20)
	b := w.bulk(operate.BulkJob{Act: client.ActRaise, Event: "go", Rate: 5})
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	phase := func(p operate.BulkPhase) {
		t.Helper()
		w.Until(string(p), func() bool {
			info, err := b.Describe(t.Context())
			return err == nil && info.Phase == p
		})
	}
	phase(operate.BulkStopped)
	info, err := b.Describe(t.Context())
	if err != nil || info.Done >= 20 {
		t.Errorf("%+v %v, want a part done", info, err)
	}
	if err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info := w.done(b); info.Done != 20 {
		t.Errorf("%+v, want 20 done", info)
	}
	if got := w.counted(); got[1] != 20 {
		t.Errorf("events taken: %v, want one by each of 20", got)
	}
}

// A job acts neither on instances that began after the preview nor on those of perdure itself.
func TestHazard68_OnlyWhatThePreviewSaw(t *testing.T) {
	w := newWorld(t, 3)
	p, err := operate.New(w.Client).PreviewBulk(t.Context(), client.Filter{})
	if err != nil || p.Count != 3 || !p.Exact || len(p.Sample) != 3 {
		t.Fatalf("%+v %v, want a preview of 3", p, err)
	}
	late, err := client.Start(t.Context(), w.Client, Collects, orchestration.None{}, client.WithID("late"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := operate.New(w.Client).StartBulk(t.Context(), operate.BulkJob{Act: client.ActTerminate, Before: p.At, Max: p.Count})
	if err != nil {
		t.Fatal(err)
	}
	if info := w.done(b); info.Phase != operate.BulkDone || info.Done != 3 {
		t.Errorf("%+v, want 3 done", info)
	}
	if d, err := late.Describe(t.Context()); err != nil || d.Status != client.StatusRunning {
		t.Errorf("%+v %v, want it running", d, err)
	}
	bounded, err := operate.New(w.Client).StartBulk(t.Context(), operate.BulkJob{Act: client.ActRestart, Max: 2})
	if err != nil {
		t.Fatal(err)
	}
	if info := w.done(bounded); info.Done+info.Skipped+info.Failed != 2 {
		t.Errorf("%+v, want 2 looked at", info)
	}
}

// A step whose node was killed runs again from its beginning: it acts on no instance twice.
func TestHazard68_RepeatedStepActsOnce(t *testing.T) {
	w := newWorld(t, 5)
	job := form.Job{
		ID: "again", Act: string(client.ActRaise), Args: form.Args{Event: "go", Payload: []byte("1")}, Max: 5, Filter: provider.Filter{IDPrefix: "c-"},
	}
	req := form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 1}
	for ; req.Max <= 5; req.Max++ { // each time it comes one instance further, and nothing of the step before is known
		if step, err := w.step(req, func(form.Stepped) {}); err != nil || step.Done != int64(req.Max) {
			t.Errorf("%+v %v, want %d done", step, err, req.Max)
		}
	}
	if got := w.counted(); got[1] != 5 {
		t.Errorf("events taken: %v, want one by each of 5", got)
	}
}

// An instance that does not match any more is left alone, although a page of the job has it.
func TestHazard68_TheFilterIsCheckedAgain(t *testing.T) {
	w := newWorld(t, 3)
	job := form.Job{
		ID: "again", Act: string(client.ActRaise), Args: form.Args{Event: "go", Payload: []byte("1")}, Max: 3,
		Filter: provider.Filter{IDPrefix: "c-", Statuses: []provider.Status{provider.StatusRunning}},
	}
	suspended := 0
	step, err := w.step(form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 3}, func(form.Stepped) {
		for ; suspended < 2; suspended++ { // behind the first act, of the newest instance
			if err := w.handles[suspended].Suspend(t.Context(), ""); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || step.Done != 1 || step.Skipped != 2 {
		t.Errorf("%+v %v, want one done and two skipped", step, err)
	}
}

// Each act of a job is checked against the rights of whoever began it.
func TestHazard67_JobsHaveTheRightsOfTheirPrincipal(t *testing.T) {
	w := newWorld(t, 2)
	operator, err := w.As(client.Principal{Name: "ann", Role: client.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operate.New(operator).StartBulk(t.Context(), operate.BulkJob{Act: client.ActDelete, Max: 2}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("an operator starts a job that deletes: %v", err)
	}
	b, err := operate.New(operator).StartBulk(t.Context(), operate.BulkJob{ID: "mine", Act: client.ActRaise, Event: "go", Max: 2})
	if err != nil {
		t.Fatal(err)
	}
	if info := w.done(b); info.Done != 2 || info.Principal != "ann" {
		t.Errorf("%+v, want 2 done by ann", info)
	}
	if err := w.Client.Terminate(t.Context(), "perdure/bulk/mine", ""); err == nil {
		t.Error("a job was terminated as an instance of the user")
	}
	// Somebody stored a job with an act that its principal must not do.
	stored := form.Job{ID: "stored", Act: string(client.ActDelete), Max: 2, Principal: &form.Principal{Name: "ann", Role: "operator"}}
	step, err := w.step(form.StepRequest{Job: stored, Key: enginetest.NewID(), Max: 2}, func(form.Stepped) {})
	if err != nil || step.Refused == "" || step.Total() != 0 {
		t.Errorf("%+v %v, want the step refused", step, err)
	}
}

// Any call of the storage may fail before or after its effect: a job acts once on each instance.
func TestOnceInSpiteOfFailures(t *testing.T) {
	t.Parallel()
	for _, kind := range []faulty.Kind{faulty.Before, faulty.After} {
		for n := 1; n <= 40; n++ {
			t.Run(fmt.Sprint(kind, n), func(t *testing.T) {
				t.Parallel()
				raiseInSpiteOf(t, kind, n)
			})
		}
	}
}

// raiseInSpiteOf makes every n-th call that changes something fail, and stops the node in the middle of the job.
func raiseInSpiteOf(t *testing.T, kind faulty.Kind, n int) {
	store := memory.New(memory.Options{})
	plan := faulty.NewPlan(uint64(n))
	e := enginetest.On(t, store, runtime.Options{})
	broken := faulty.Wrap(store, plan)
	first := e.StartOn(broken, registry(t), e.Options)
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	w.begin(6)
	var mu sync.Mutex
	seen := 0
	struck := make(chan struct{})
	plan.Add(faulty.Rule{
		Ops: []faulty.Op{faulty.Send, faulty.CommitTurn, faulty.ReportTasks, faulty.List, faulty.Get, faulty.RenewTasks}, Kind: kind,
		Match: func(any) bool {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen == n {
				close(struck)
			}
			return seen == n
		},
	})
	b := w.bulk(operate.BulkJob{Act: client.ActRaise, Event: "go", Payload: 1})
	e.Until("the call failed, or the job made fewer calls", func() bool {
		select {
		case <-struck:
			return true
		default:
		}
		info, err := b.Describe(t.Context())
		return err == nil && info.Over()
	})
	e.Stop(first)
	e.Start(registry(t))
	info := w.done(b)
	if info.Phase != operate.BulkDone || info.Done != 6 {
		t.Errorf("%+v, want 6 done", info)
	}
	if got := w.counted(); got[1] != 6 {
		t.Errorf("events taken: %v, want one by each of 6", got)
	}
}
