package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

type fetched struct {
	res provider.FetchTurnsResult
	err error
	at  time.Time
}

func fetchTurns(ctx context.Context, p *Provider, req provider.FetchTurnsRequest) chan fetched {
	ch := make(chan fetched, 1)
	go func() {
		res, err := p.FetchTurns(ctx, req)
		ch <- fetched{res, err, time.Now()}
	}()
	return ch
}

func TestClaimIsInTheCommitOfCreate(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	create(t, p, "warm", "other") // so that the count below is not of the first of all
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	before := p.store.writer.commits.Load()
	create(t, p, "one", "x")
	f := <-got
	if f.err != nil || len(f.res.Turns) != 1 || f.res.Turns[0].Instance.Deliveries != 1 || len(f.res.Turns[0].Messages) != 1 {
		t.Fatalf("fetched %+v", f)
	}
	if n := p.store.writer.commits.Load() - before; n != 1 {
		t.Errorf("start and claim took %d commits: want 1", n)
	}
}

func TestChainOfHandOffStepsTakesOneCommitEach(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	name := "chain-c"
	lease := newToken()
	got := fetchTurns(t.Context(), p, fetchOf(name, lease, time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	before := p.store.writer.commits.Load()
	in := create(t, p, "c", name)
	f := <-got
	if f.err != nil {
		t.Fatal(f.err)
	}
	c := &chain{p: p, key: in.Key, version: in.Version}
	if err := c.first(t, lease, f.res.Turns[0].Messages[0].ID); err != nil {
		t.Fatal(err)
	}
	for range 99 {
		if err := c.step(t); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.end(t); err != nil {
		t.Fatal(err)
	}
	if n := p.store.writer.commits.Load() - before; n != 102 {
		t.Errorf("a chain of 100 activities took %d commits: want 102", n)
	}
	h, err := p.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: in.Key, From: 50})
	if err != nil || len(h.Events) != 152 || h.Events[0].ID != 50 || h.Length != 201 {
		t.Errorf("history: %v, %d events of %d", err, len(h.Events), h.Length)
	}
}

func TestIdleFetchDoesNotWrite(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	before := p.store.writer.commits.Load()
	for range 10 {
		res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), 0))
		if err != nil || len(res.Turns) != 0 {
			t.Fatal(res, err)
		}
		if _, err := p.FetchTasks(t.Context(), tasksOf("q", "a", 0)); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.store.writer.commits.Load() - before; n != 0 {
		t.Errorf("%d commits for fetches that found nothing", n)
	}
}

func tasksOf(queue, name string, wait time.Duration) provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: "node", Token: newToken(), Lease: 30 * time.Second, Max: 10, Wait: wait,
		Queues: []provider.QueueFilter{{Queue: queue, Names: []string{name}}},
	}
}

func TestTimersFireWhenDue(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	inSomeRound(t, func() error {
		got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
		awaitWaiting(t, p.store.writer, 1)
		key := newKey()
		_, err := p.Create(t.Context(), provider.CreateRequest{
			ID: key.String(), Key: key, Commit: newToken(), Name: "x", Message: provider.NewMessage{Delay: 50 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		f := <-got
		if f.err != nil || len(f.res.Turns) != 1 {
			t.Fatalf("fetched %+v", f)
		}
		due := f.res.Turns[0].Messages[0].VisibleAt.Std()
		late := f.at.Sub(due)
		t.Logf("late by %v", late)
		if late < 0 {
			t.Fatal("fetched before it was due")
		}
		if late > time.Second {
			return fmt.Errorf("late by %v", late)
		}
		return nil
	})
}

func TestLapsedLeaseIsFetchedAgain(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	create(t, p, "one", "x")
	req := fetchOf("x", newToken(), 0)
	req.Lease = 30 * time.Millisecond
	first, err := p.FetchTurns(t.Context(), req)
	if err != nil || len(first.Turns) != 1 {
		t.Fatal(first, err)
	}
	f := <-fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	if f.err != nil || len(f.res.Turns) != 1 || f.res.Turns[0].Instance.Deliveries != 2 {
		t.Fatalf("fetched %+v", f)
	}
	if d := f.res.Now.Sub(first.Now); d < 30*time.Millisecond {
		t.Errorf("taken after %v: before the lease was over", d)
	}
}

func TestHazard05_NoWakeUpIsLost(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	const n = 300
	done := make(chan error, 3)
	total := make(chan int, 1)
	total <- 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	bound := time.AfterFunc(30*time.Second, cancel)
	defer bound.Stop()
	for range 3 {
		go func() {
			for {
				req := fetchOf("x", newToken(), time.Minute)
				req.Max = 7
				res, err := p.FetchTurns(ctx, req)
				if err != nil {
					done <- err
					return
				}
				sum := <-total + len(res.Turns)
				total <- sum
				if sum == n {
					cancel()
				}
			}
		}()
	}
	for i := range n {
		create(t, p, fmt.Sprint(i), "x")
	}
	for range 3 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if sum := <-total; sum != n {
		t.Errorf("%d instances were fetched: want %d", sum, n)
	}
	if c := p.Counters(); c.ReadyMended != 0 {
		t.Errorf("counted %+v", c)
	}
}

func TestCancelledFetchGivesItsClaimBack(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := fetchTurns(ctx, p, fetchOf("x", newToken(), time.Minute))
	w := p.store.writer
	awaitWaiting(t, w, 1)
	w.waiters.mu.Lock()
	call := w.waiters.calls[0]
	w.waiters.mu.Unlock()
	take := call.take
	call.take = func(tx *tx) (bool, error) { // the caller goes while the writer claims for it
		found, err := take(tx)
		cancel()
		<-got
		return found, err
	}
	create(t, p, "one", "x")
	f := <-fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	if f.err != nil || len(f.res.Turns) != 1 || f.res.Turns[0].Instance.Deliveries != 1 {
		t.Fatalf("fetched %+v: want the instance with its delivery given back", f)
	}
}

func TestWaitingGetsAreToldByTheCommit(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	c := startChain(t, p, "w")
	const n = 200
	results := make(chan error, n)
	for range n {
		go func() {
			res, err := p.Get(t.Context(), provider.GetRequest{Key: c.key, WaitEnded: true, Wait: time.Minute})
			if err == nil && (res.Instance.Status != provider.StatusCompleted || string(res.Instance.Result) != string(payload)) {
				err = fmt.Errorf("answered %+v", res.Instance)
			}
			results <- err
		}()
	}
	await(t, "waiting calls", func() bool {
		return p.store.hub.Waiting() == n
	})
	begin := time.Now()
	if err := c.end(t); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(begin); d > 7*time.Second { // half of the slow recheck
		t.Errorf("woken after %v: by the slow recheck only", d)
	}
}
