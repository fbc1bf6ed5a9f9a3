package bulk_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// retrying is a node with n instances whose activity waits an hour for its second attempt.
func retrying(t *testing.T, n int) (*world, []provider.UUID) {
	t.Helper()
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(callsRegistry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	return w, w.callers(n, 0)
}

// retryNow is a step that retries n instances, as fast as it can.
func retryNow(n int) form.StepRequest {
	return form.StepRequest{Key: enginetest.NewID(), Max: n, Job: form.Job{
		ID: "now", Act: string(client.ActRetryNow), Max: int64(n), Rate: operate.MaxBulkRate, Filter: provider.Filter{IDPrefix: "c-", Retrying: true},
	}}
}

// task is the pending task of an instance.
func (w *world) task(key provider.UUID) provider.TaskInfo {
	w.T.Helper()
	res, err := w.Store.Get(w.T.Context(), provider.GetRequest{Key: key, WithTasks: true})
	if err != nil || len(res.Tasks) != 1 {
		w.T.Fatalf("%+v %v, want one task", res.Tasks, err)
	}
	return res.Tasks[0]
}

// waits waits until an attempt of an instance waits for its delay.
func (w *world) waits(key provider.UUID, attempt int64) {
	w.T.Helper()
	w.Until("the attempt waits", func() bool {
		t := w.task(key)
		if t.Attempt > attempt {
			w.T.Fatalf("attempt %d is pending, want %d", t.Attempt, attempt)
		}
		return t.Attempt == attempt && t.State == provider.TaskQueued && t.Owner == "" && w.now(key) < t.NotBefore
	})
}

func (w *world) now(key provider.UUID) provider.Time {
	w.T.Helper()
	res, err := w.Store.Get(w.T.Context(), provider.GetRequest{Key: key})
	if err != nil {
		w.T.Fatal(err)
	}
	return res.Now
}

// A job begins the attempt that waits on each instance, once. It needs a rate, and takes only instances that retry.
func TestHazard154_AJobRetriesEachOnce(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(callsRegistry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	keys := w.callers(3, 2)
	job := operate.BulkJob{Act: client.ActRetryNow, Max: 5}
	if _, err := operate.New(w.Client).StartBulk(t.Context(), job); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a job without a rate starts: %v", err)
	}
	p, err := operate.New(w.Client).PreviewBulk(t.Context(), client.Filter{Retrying: true})
	if err != nil || p.Count != 3 || len(p.Queues) != 1 || p.Queues[0] != w.task(keys[0]).Queue {
		t.Errorf("%+v %v, want 3 of one queue", p, err)
	}
	job.Rate = operate.MaxBulkRate
	if info := w.done(w.bulk(job)); info.Phase != operate.BulkDone || info.Done != 3 || info.Skipped+info.Failed != 0 {
		t.Errorf("%+v, want 3 done and no other looked at", info)
	}
	for _, key := range keys[:3] {
		w.waits(key, 3)
	}
}

// A step whose node was killed retries no attempt that followed the one it had planned, and counts each instance once.
func TestHazard154_ARepeatedStepLeavesLaterAttempts(t *testing.T) {
	w, keys := retrying(t, 4)
	req := retryNow(4)
	stored := w.killed(req, nil, 2)
	slices.Reverse(keys) // the newest first, as the step takes them
	w.waits(keys[0], 3)
	w.waits(keys[1], 3)
	for _, p := range stored.Plan {
		if len(p.Tasks) != 1 || p.Tasks[0].Attempt != 2 {
			t.Errorf("the plan has %+v, want the second attempt", p)
		}
	}
	done, err := w.attempt(t.Context(), req, stored, func(form.Stepped, bool) {})
	if err != nil || done.Done != 4 || done.Total() != 4 {
		t.Errorf("%+v %v, want all done", done, err)
	}
	for _, key := range keys {
		w.waits(key, 3)
	}
}

// An attempt that began after the plan is not repeated, and its instance counts as skipped.
func TestHazard154_AnotherAttemptIsSkipped(t *testing.T) {
	w, keys := retrying(t, 3)
	begun := false
	done, err := w.step(retryNow(3), func(form.Stepped) {
		if begun {
			return
		}
		begun = true // the plan is stored, and nothing is done
		h := client.HandleOf[int](w.Client, "c-0", keys[0])
		d, err := h.Describe(t.Context())
		if err == nil {
			err = h.Activity(d.Ref(&d.Activities[0])).Retry(t.Context(), "")
		}
		if err != nil {
			t.Error(err)
		}
		w.waits(keys[0], 3)
	})
	if err != nil || done.Done != 2 || done.Skipped != 1 || done.Failed != 0 {
		t.Errorf("%+v %v, want two done and one skipped", done, err)
	}
	for _, key := range keys {
		w.waits(key, 3)
	}
}

// What somebody has paused stays so, and does not count.
func TestHazard154_PausedActivitiesStayPaused(t *testing.T) {
	w, keys := retrying(t, 2)
	h := client.HandleOf[int](w.Client, "c-1", keys[1])
	d, err := h.Describe(t.Context())
	if err == nil {
		err = h.Activity(d.Ref(&d.Activities[0])).Pause(t.Context(), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	done, err := w.step(retryNow(2), func(form.Stepped) {})
	if err != nil || done.Done != 1 || done.Total() != 1 {
		t.Errorf("%+v %v, want one done and none skipped", done, err)
	}
	if got := w.task(keys[1]); got.NotBefore != provider.HeldUntil {
		t.Errorf("%+v, want it paused", got)
	}
}

// A step waits between two activities as its rate demands.
func TestHazard154_TheRateIsOfActivities(t *testing.T) {
	w, keys := retrying(t, 2)
	req := retryNow(2)
	req.Job.Rate = 1e-6
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.attempt(ctx, req, nil, func(form.Stepped, bool) {})
		ended <- err
	}()
	w.waits(keys[1], 3) // the newest comes first
	stop(errKilled)
	if err := <-ended; err == nil {
		t.Error("the step ended before the second activity was due")
	}
	if got := w.task(keys[0]); got.Attempt != 2 {
		t.Errorf("attempt %d of the second activity, want it left to wait", got.Attempt)
	}
}

// A step tells how many activities it retried, for which the orchestration waits: an instance may have several.
func TestHazard154_AStepTellsItsActivities(t *testing.T) {
	w, _ := retrying(t, 2)
	if done, err := w.step(retryNow(2), func(form.Stepped) {}); err != nil || done.Tasks != 2 {
		t.Errorf("%+v %v, want 2 activities", done, err)
	}
}

// afterGet is a store that calls a function behind a read, once.
type afterGet struct {
	*memory.Provider

	then atomic.Pointer[func()]
}

func (s *afterGet) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	res, err := s.Provider.Get(ctx, req)
	if then := s.then.Swap(nil); then != nil {
		(*then)()
	}
	return res, err
}

// Who pauses an activity while a step waits for its turn keeps it paused.
func TestHazard154_WhatIsPausedMeanwhileStaysPaused(t *testing.T) {
	store := &afterGet{Provider: memory.New(memory.Options{})}
	e := enginetest.On(t, store, runtime.Options{})
	e.Start(callsRegistry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	keys := w.callers(1, 0)
	h := client.HandleOf[int](w.Client, "c-0", keys[0])
	d, err := h.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pause := func() { err = h.Activity(d.Ref(&d.Activities[0])).Pause(t.Context(), "") }
	done, failed := w.step(retryNow(1), func(done form.Stepped) {
		if len(done.Plan) > 0 {
			store.then.Store(&pause) // behind the read of the instance on which it acts next
		}
	})
	if failed != nil || err != nil || done.Done != 0 || w.task(keys[0]).NotBefore != provider.HeldUntil {
		t.Errorf("%+v %v %v, want it paused and left alone", done, failed, err)
	}
}

// A job that retries needs the role of an operator, when it is started and at each step.
func TestHazard154_ViewersRetryNothing(t *testing.T) {
	w, keys := retrying(t, 1)
	for role, may := range map[client.Role]bool{client.RoleViewer: false, client.RoleOperator: true, client.RoleAdmin: true} {
		c, err := w.As(client.Principal{Name: "ann", Role: role})
		if err != nil {
			t.Fatal(err)
		}
		job := operate.BulkJob{Act: client.ActRetryNow, Filter: client.Filter{IDPrefix: "none"}, Max: 1, Rate: 1}
		if err := operate.New(c).CheckBulk(t.Context(), job); errors.Is(err, client.ErrForbidden) == may {
			t.Errorf("%v: the check says %v", role, err)
		}
		if _, err := operate.New(c).StartBulk(t.Context(), job); errors.Is(err, client.ErrForbidden) == may {
			t.Errorf("%v: the start says %v", role, err)
		}
	}
	stored := retryNow(1)
	stored.Job.Principal = &form.Principal{Name: "ann", Role: "viewer"}
	if step, err := w.step(stored, func(form.Stepped) {}); err != nil || step.Refused == "" || step.Total() != 0 {
		t.Errorf("%+v %v, want the step refused", step, err)
	}
	if got := w.task(keys[0]); got.Attempt != 2 {
		t.Errorf("attempt %d, want it left to wait", got.Attempt)
	}
}
