package dispatcher_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// oldNode lists a node of a release that knows no orders.
func oldNode(e *enginetest.Engine, owner string) {
	e.T.Helper()
	_, err := e.Store.Record(e.T.Context(), provider.RecordRequest{
		Action: provider.RecordPut, Namespace: "perdure/nodes", Key: owner, Value: []byte(`{"release":"v0.1.0","level":8,"count":0,"started":1}`),
	})
	if err != nil {
		e.T.Fatal(err)
	}
}

func queueOf(e *enginetest.Engine, c *client.Client, name string) operate.QueueInfo {
	e.T.Helper()
	all, err := operate.New(c).Queues(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	for _, q := range all {
		if q.Queue == name {
			return q
		}
	}
	return operate.QueueInfo{}
}

// PauseQueue waits for the nodes that serve the queue, and names those that do not obey. Queues shows what waits, runs and rests.
func TestHazard86_PauseNamesNodesThatDoNotObey(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx, held, begun := e.T.Context(), make(chan struct{}), make(chan struct{}, 10)
		release := sync.OnceFunc(func() { close(held) })
		rt := e.Start(single(e, func(_ context.Context, n int) (int, error) {
			begun <- struct{}{}
			<-held
			return n, nil
		}))
		e.T.Cleanup(release)
		c := e.Client(client.Options{})
		e.Create("runs", "single", 1)
		<-begun
		time.Sleep(control.MinReportInterval + control.ReadInterval) //nolint:forbidigo // virtual time
		q := queueOf(e, c, orchestration.DefaultQueue)
		if q.Running != 1 || q.Waiting != 0 || !slices.Equal(q.Nodes, []string{rt.Owner()}) || q.Paused != nil {
			e.T.Errorf("%+v", q)
		}
		at := time.Now()
		done, err := operate.New(c).PauseQueue(ctx, orchestration.DefaultQueue, "the bank is down")
		if took := time.Since(at); err != nil || len(done.Unconfirmed)+len(done.Ignoring) != 0 || took > 5*time.Second || took < time.Second/2 {
			e.T.Fatalf("%+v, %v after %v", done, err, took)
		}
		e.Create("waits", "single", 2)
		since := time.Now()
		e.Until("it waits", func() bool { return queueOf(e, c, orchestration.DefaultQueue).Waiting == 1 })
		q = queueOf(e, c, orchestration.DefaultQueue)
		if q.Paused == nil || q.Paused.Reason != "the bank is down" || q.Oldest.Before(since.Add(-time.Second)) || len(q.Unserved) != 0 {
			e.T.Errorf("%+v", q)
		}
		// A node that hangs, and one of an older release.
		oldNode(e, "old")
		if done, err = operate.New(c).ResumeQueue(ctx, orchestration.DefaultQueue, "", operate.ConfirmWithin(0)); err != nil || !slices.Contains(done.Unconfirmed, rt.Owner()) ||
			!slices.Equal(done.Ignoring, []string{"old"}) {
			e.T.Fatalf("%+v, %v", done, err)
		}
		<-begun
		release()
		if _, err := operate.New(c).PauseQueue(ctx, "perdure", ""); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("perdure's own queue: %v", err)
		}
		// Nobody serves another queue, but an old node might.
		if done, err = operate.New(c).PauseQueue(ctx, "other", ""); err != nil || len(done.Unconfirmed) != 0 || !slices.Equal(done.Ignoring, []string{"old"}) {
			e.T.Errorf("%+v, %v", done, err)
		}
		if q := queueOf(e, c, "other"); q.Paused == nil {
			e.T.Errorf("%+v", q)
		}
	})
}

// Nodes shows state, queues and load. DrainNode waits for the node, and knows which nodes cannot be drained.
func TestNodesAreShownAndDrained(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 7, MaxConcurrentActivities: 9}, func(e *enginetest.Engine) {
		ctx, release, begun := e.T.Context(), make(chan struct{}), make(chan struct{}, 10)
		rt := e.Start(single(e, func(_ context.Context, n int) (int, error) {
			begun <- struct{}{}
			<-release
			return n, nil
		}))
		c := e.Client(client.Options{})
		node := func() operate.NodeInfo {
			all, err := operate.New(c).Nodes(ctx)
			if err != nil {
				e.T.Fatal(err)
			}
			for _, n := range all {
				if n.Owner == rt.Owner() {
					return n
				}
			}
			e.T.Fatal("the node is not listed")
			return operate.NodeInfo{}
		}
		if n := node(); n.State != operate.NodeRunning || !n.Obeys || len(n.Queues) != 1 || len(n.Queues[0].Activities) != 2 {
			e.T.Errorf("%+v", n)
		}
		e.Create("runs", "single", 1)
		<-begun
		time.Sleep(control.MinReportInterval + control.ReadInterval) //nolint:forbidigo // virtual time
		if l := node().Load; l == nil || l.Activities != 1 || l.TurnSlots != 7 || l.ActivitySlots != 9 || l.Queues[orchestration.DefaultQueue] != 1 {
			e.T.Errorf("%+v", l)
		}
		oldNode(e, "old")
		for owner, want := range map[string]error{"nobody": client.ErrNotFound, "": client.ErrInvalid} {
			if _, err := operate.New(c).DrainNode(ctx, owner, ""); !errors.Is(err, want) {
				e.T.Errorf("draining %q: %v", owner, err)
			}
		}
		if done, err := operate.New(c).DrainNode(ctx, "old", ""); err != nil || !slices.Equal(done.Ignoring, []string{"old"}) {
			e.T.Errorf("an old node: %+v, %v", done, err)
		}
		if done, err := operate.New(c).DrainNode(ctx, rt.Owner(), "a new disk"); err != nil || len(done.Unconfirmed)+len(done.Ignoring) != 0 {
			e.T.Errorf("%+v, %v", done, err)
		}
		if n := node(); n.State != operate.NodeDraining {
			e.T.Errorf("%+v", n)
		}
		close(release)
		e.Until("it is drained", func() bool { return node().State == operate.NodeDrained })
		if done, err := operate.New(c).UndrainNode(ctx, rt.Owner(), ""); err != nil || len(done.Unconfirmed) != 0 || node().State != operate.NodeRunning {
			e.T.Errorf("%+v, %v", done, err)
		}
		time.Sleep(31*time.Minute + time.Second) //nolint:forbidigo // virtual time
		all, err := operate.New(c).Nodes(ctx)
		if err != nil || len(all) != 2 || node().State != operate.NodeRunning {
			e.T.Errorf("%+v, %v", all, err)
		}
		for _, n := range all {
			if n.Owner == "old" && (n.State != operate.NodeLost || n.Obeys) {
				e.T.Errorf("%+v", n)
			}
		}
	})
}

// unreadable cannot read the orders at first.
type unreadable struct {
	*provider.Full

	fails atomic.Int64 // how many more reads fail
}

func (u *unreadable) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if req.Action == provider.RecordGet && req.Namespace == "perdure/control" && u.fails.Add(-1) >= 0 {
		return provider.RecordResult{}, &provider.Error{Op: "record", Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("the network is down")}
	}
	return u.Full.Record(ctx, req)
}

// A node that cannot read the orders when it starts does not know whether a queue is paused, so it begins nothing of it.
func TestHazard86_NodeThatCannotReadItsOrdersBeginsNothing(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx, begun := e.T.Context(), make(chan struct{}, 10)
		c := e.Client(client.Options{})
		if _, err := operate.New(c).PauseQueue(ctx, orchestration.DefaultQueue, "", operate.ConfirmWithin(0)); err != nil {
			e.T.Fatal(err)
		}
		store := &unreadable{Full: e.Store}
		store.fails.Store(3)
		e.StartOn(store, single(e, func(_ context.Context, n int) (int, error) {
			begun <- struct{}{}
			return n, nil
		}), e.Options)
		key := e.Create("waits", "single", 1)
		time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		if n := len(begun); n != 0 || store.fails.Load() > 0 {
			e.T.Fatalf("%d activities of a paused queue have begun; %d reads", n, store.fails.Load())
		}
		if _, err := operate.New(c).ResumeQueue(ctx, orchestration.DefaultQueue, ""); err != nil {
			e.T.Fatal(err)
		}
		e.WaitEnded(key)
	})
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) { // nothing was ever paused
		store := &unreadable{Full: e.Store}
		store.fails.Store(3)
		e.StartOn(store, single(e, func(_ context.Context, n int) (int, error) { return n, nil }), e.Options)
		since := time.Now()
		e.WaitEnded(e.Create("runs", "single", 1))
		if took := time.Since(since); took > control.ReadInterval {
			e.T.Errorf("the first activity ended after %v", took)
		}
	})
}
