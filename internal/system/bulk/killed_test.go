package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// errKilled ends an attempt as the loss of its node does: nothing of it is stored any more.
var errKilled = errors.New("the node was killed")

// killed makes an attempt that dies behind n acts, and returns what it has surely stored: its plan.
func (w *world) killed(req form.StepRequest, from *form.Stepped, n int) (stored *form.Stepped) {
	w.T.Helper()
	ctx, kill := context.WithCancelCause(w.T.Context())
	defer kill(nil)
	stored = from
	beats := 0
	_, err := w.attempt(ctx, req, from, func(done form.Stepped, store bool) {
		if store {
			stored = &done
		} else if beats++; beats == n {
			kill(errKilled)
		}
	})
	if err == nil {
		w.T.Errorf("the attempt ended before it was killed behind %d acts", n)
	}
	return stored
}

// every is a step on all instances of the test.
func (w *world) every(act client.Act, args form.Args, statuses ...provider.Status) form.StepRequest {
	return form.StepRequest{Key: enginetest.NewID(), Max: len(w.handles), Job: form.Job{
		ID: "killed", Act: string(act), Args: args, Max: int64(len(w.handles)), Filter: provider.Filter{IDPrefix: "c-", Statuses: statuses},
	}}
}

// whatever is what the acts of the test need.
func whatever() form.Args {
	return form.Args{Reason: "why", Event: "go", Payload: []byte("1"), Force: true, Point: 1, Prefix: "fork of "}
}

// A step counts each instance once, wherever its node was killed, although the acts made some vanish and others match no more.
func TestHazard68_KilledStepsCountExactly(t *testing.T) {
	t.Parallel()
	running, suspended := provider.StatusRunning, provider.StatusSuspended
	for _, one := range []struct {
		act      client.Act
		statuses []provider.Status
		prepare  client.Act // done on all before
	}{
		{act: client.ActDelete},
		{act: client.ActDelete, statuses: []provider.Status{running}},
		{act: client.ActTerminate},
		{act: client.ActTerminate, statuses: []provider.Status{running}},
		{act: client.ActCancel, statuses: []provider.Status{running}},
		{act: client.ActCancel},
		{act: client.ActSuspend, statuses: []provider.Status{running}},
		{act: client.ActResume, statuses: []provider.Status{suspended}, prepare: client.ActSuspend},
		{act: client.ActRaise, statuses: []provider.Status{running}},
		{act: client.ActRestart, prepare: client.ActTerminate},
		{act: client.ActReset, statuses: []provider.Status{provider.StatusTerminated}, prepare: client.ActTerminate},
		{act: client.ActReset},
		{act: client.ActFork},
		{act: client.ActFork, statuses: []provider.Status{running}},
	} {
		t.Run(fmt.Sprintf("%s %v", one.act, one.statuses), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 5)
			w.begun()
			if one.prepare != "" {
				if done, err := w.step(w.every(one.prepare, whatever()), func(form.Stepped) {}); err != nil || done.Done != 5 {
					t.Fatalf("%+v %v, want all prepared", done, err)
				}
			}
			req := w.every(one.act, whatever(), one.statuses...)
			w.killedTwice(req)
			w.once(one.act)
			w.settled() // a fork that has not begun would be a finding of the checker
		})
	}
}

// killedTwice makes a step whose first attempts are killed behind some acts.
func (w *world) killedTwice(req form.StepRequest) {
	w.T.Helper()
	stored := w.killed(req, nil, 2)
	w.settled()
	stored = w.killed(req, stored, 4)
	w.settled()
	done, err := w.attempt(w.T.Context(), req, stored, func(form.Stepped, bool) {})
	if err != nil || done.Done != int64(req.Max) || done.Total() != done.Done {
		w.T.Errorf("%+v %v, want all %d done", done, err, req.Max)
	}
}

// begun waits until each instance has begun, so that it has a history to go back to.
func (w *world) begun() {
	w.T.Helper()
	for _, h := range w.handles {
		w.Until("it has begun", func() bool { return w.Get(h.Key()).HistoryLength > 0 })
	}
}

// settled waits until the instances have taken what was sent to them.
func (w *world) settled() {
	w.T.Helper()
	w.Until("all messages are taken", func() bool {
		stats, err := w.Store.Stats(w.T.Context(), provider.StatsRequest{})
		return err == nil && len(stats.Turns) == 0 && stats.TurnLeases == 0
	})
}

// once checks that the act happened once on each instance.
func (w *world) once(act client.Act) {
	w.T.Helper()
	count := func(prefix string, want int64) {
		w.T.Helper()
		if n, err := w.Count(w.T.Context(), client.Filter{IDPrefix: prefix, Replaced: true}); err != nil || n != want {
			w.T.Errorf("%d instances with the prefix %q %v, want %d", n, prefix, err, want)
		}
	}
	switch act {
	case client.ActDelete:
		count("c-", 0)
	case client.ActRestart:
		count("c-", 10)
	case client.ActFork:
		count("c-", 5)
		count("fork of c-", 5)
	case client.ActReset:
		for _, h := range w.handles {
			if i := w.Get(h.Key()); i.Execution != 2 {
				w.T.Errorf("%s is in execution %d, want 2", i.ID, i.Execution)
			}
		}
	case client.ActRaise:
		if got := w.counted(); got[1] != 5 {
			w.T.Errorf("events taken: %v, want one by each of 5", got)
		}
	}
}

// A killed step neither acts on more instances than the job may, nor counts what others did before it began.
func TestHazard68_KilledStepsKeepToTheMost(t *testing.T) {
	w := newWorld(t, 5)
	req := w.every(client.ActDelete, whatever())
	req.Max = 3
	stored := w.killed(req, nil, 2)
	done, err := w.attempt(t.Context(), req, stored, func(form.Stepped, bool) {})
	if err != nil || done.Done != 3 || done.Total() != 3 {
		t.Errorf("%+v %v, want 3 done", done, err)
	}
	if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-"}); err != nil || n != 2 {
		t.Errorf("%d instances are left %v, want 2", n, err)
	}
}

// Ends takes an event and ends with it.
func Ends(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	return orchestration.Events[int](ctx, "go").Receive(ctx)
}

// Acts of others are not counted as done by the job, although the lost attempt had planned them. Its own messages are found in histories.
func TestHazard68_KilledStepsCountOnlyTheirOwn(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Ends); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	for n := range 4 {
		h, err := client.Start(t.Context(), w.Client, Ends, orchestration.None{}, client.WithID(fmt.Sprint("c-", n)))
		if err != nil {
			t.Fatal(err)
		}
		w.handles = append(w.handles, h)
	}
	for _, act := range []client.Act{client.ActRaise, client.ActTerminate} {
		req := w.every(act, whatever(), provider.StatusRunning)
		req.Max = 2
		stored := w.killed(req, nil, 1)
		for _, h := range w.handles { // the lost attempt has ended the newest one, and somebody else ends the other of the plan
			if h.Key() == stored.Plan[0].Key || h.Key() == stored.Plan[1].Key {
				if err := h.Raise(t.Context(), "go", 2); err != nil && !errors.Is(err, client.ErrEnded) {
					t.Fatal(err)
				}
				w.WaitEnded(h.Key())
			}
		}
		done, err := w.attempt(t.Context(), req, stored, func(form.Stepped, bool) {})
		if err != nil || done.Done != 1 || done.Skipped != 1 {
			t.Errorf("%s: %+v %v, want one done and one skipped", act, done, err)
		}
	}
}

// A redriven dead letter leaves no trace, so the plan says which instances had one.
func TestHazard68_KilledRedrivesCountExactly(t *testing.T) {
	w := newWorld(t, 5)
	w.begun()
	for _, h := range w.handles {
		if err := h.Suspend(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		event := &history.EventReceived{Name: "go", Payload: []byte("1"), RequestID: "dropped"}
		sent, err := w.Store.Send(t.Context(), provider.SendRequest{Key: h.Key(), Message: provider.NewMessage{
			Kind: provider.MessageKind(event.Kind()), Payload: history.Encode(nil, history.Event{Body: event}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Store.Steer(t.Context(), provider.SteerRequest{
			Key: h.Key(), Action: provider.SteerDrop, MessageID: sent.MessageID, Reason: "test", Commit: enginetest.NewID(),
		})
		if err == nil {
			err = h.Resume(t.Context(), "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.killedTwice(w.every(client.ActRedrive, whatever()))
	if got := w.counted(); got[1] != 5 {
		t.Errorf("events taken: %v, want one by each of 5", got)
	}
}

// An instance that has the version already was moved by the lost attempt, if it remembers that.
func TestHazard68_KilledMovesCountExactly(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, orchestration.Define("Collects", Collects, orchestration.Version("2"))); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	for n := range 5 {
		h, err := client.StartNamed[int](t.Context(), w.Client, "Collects", orchestration.None{}, client.WithID(fmt.Sprint("c-", n)), client.WithVersion(""))
		if err != nil {
			t.Fatal(err)
		}
		w.handles = append(w.handles, h)
	}
	w.begun()
	if err := w.Move(t.Context(), "c-0", "2"); err != nil { // the oldest, on which the job acts last
		t.Fatal(err)
	}
	args := whatever()
	args.Version = "2"
	req := w.every(client.ActMove, args)
	stored := w.killed(req, nil, 2)
	done, err := w.attempt(t.Context(), req, stored, func(form.Stepped, bool) {})
	if err != nil || done.Done != 4 || done.Skipped != 1 {
		t.Errorf("%+v %v, want 4 done and one skipped", done, err)
	}
}

// A reset of an instance whose code no node has counts as failed, and holds the job up no longer than the client waits for a node.
func TestResetUnserved(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(registry(t))
	w := &world{Engine: e, Client: e.Client(client.Options{CallTimeout: 300 * time.Millisecond})}
	w.begin(1)
	w.begun()
	if _, err := client.StartNamed[int](t.Context(), w.Client, "Nobody", 1, client.WithID("c-nobody")); err != nil {
		t.Fatal(err)
	}
	req := w.every(client.ActReset, whatever())
	req.Max = 2
	done, err := w.step(req, func(form.Stepped) {})
	if err != nil || done.Done != 1 || done.Failed != 1 || done.Failures[0].ID != "c-nobody" {
		t.Errorf("%+v %v, want one done and one failed", done, err)
	}
	w.Until("it runs in execution 2", func() bool {
		i := w.Get(w.handles[0].Key())
		return i.Execution == 2 && i.ReadyAt == 0
	})
}

// Forks and restarts of a lost attempt are counted although their origins went meanwhile: the new instances tell of them.
func TestHazard68_KilledForksCountWithoutTheirOrigins(t *testing.T) {
	t.Parallel()
	for _, one := range []client.Act{client.ActFork, client.ActRestart} {
		t.Run(string(one), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 5)
			w.begun()
			if one == client.ActRestart {
				if done, err := w.step(w.every(client.ActTerminate, whatever()), func(form.Stepped) {}); err != nil || done.Done != 5 {
					t.Fatalf("%+v %v, want all prepared", done, err)
				}
			}
			req := w.every(one, whatever())
			stored := w.killed(req, nil, 2)
			w.settled()
			for _, p := range stored.Plan[:2] {
				if _, err := client.HandleOf[int](w.Client, p.ID, p.Key).Delete(t.Context(), client.Force()); err != nil {
					t.Fatal(err)
				}
			}
			done, err := w.attempt(t.Context(), req, stored, func(form.Stepped, bool) {})
			if err != nil || done.Done != 5 || done.Total() != 5 {
				t.Errorf("%+v %v, want all done", done, err)
			}
			w.settled()
		})
	}
}
