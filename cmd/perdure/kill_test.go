package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

var (
	killSeed = flag.Uint64("kill.seed", 0, "seed of the kill test; 0: random")
	killFor  = flag.Duration("kill.for", 0, "kill for this long, with as much work as needed")
)

// killing is one run of the kill test.
type killing struct {
	*testClients
	*fleet

	t       *testing.T
	store   provider.Provider
	log     churn.Log
	random  *rand.Rand
	stderr  *output
	midst   int               // index of the kill during which the store is checked
	cluster *restartedCluster // a Postgres that is restarted; nil for a file
}

// Two workers on one file are killed in turn at random moments, and sometimes suspended for about a lease. A third
// process starts hundreds of orchestrations and sends events to them. All orchestrations reach the outcome that
// their code implies, and the store is sound.
func TestKilledWorkersLoseNothing(t *testing.T) {
	longtest.Skip(t)
	t.Parallel() // it mostly waits for moments and leases
	k := newKilling(t, file(filepath.Join(t.TempDir(), "kill.db")))
	k.run(2, 15, 200) // many more in make soak
}

// run enlists plans, kills workers, and then checks that nothing is lost.
func (k *killing) run(workers, kills, plans int) {
	k.t.Helper()
	k.midst = kills / 2
	k.enlist(plans / 4)
	k.man(workers)
	end := time.Now().Add(*killFor)
	for n := 0; n < kills || time.Now().Before(end); n++ {
		k.enlist(plans * 3 / 4 / kills)
		k.strike(n)
		if k.t.Failed() {
			return // further checks would only repeat the failure
		}
	}
	// Nine in ten kills wait for work. On a machine that is busy with something else, some of them wait in vain.
	if k.hits*2 < k.kills {
		k.t.Errorf("%d of %d kills hit a worker with turns or activities in flight, must be half of them", k.hits, k.kills)
	}
	k.checkOutcomes()
	k.dismiss()
	k.checkInvariants(k.t.Context(), invariant.Options{Idle: true, Expect: k.expected})
	k.checkResults(k.t.Context())
	k.checkUpdates(k.t.Context())
	k.t.Logf("%d kills, %d of them with work of the killed worker in flight; %d while it opened the store; %d pauses; %d orchestrations",
		k.kills, k.hits, k.early, k.pauses, len(k.courses))
}

func newKilling(t *testing.T, db database) *killing {
	t.Helper()
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat this run with -kill.seed=%d", seed)
	ledger := filepath.Join(t.TempDir(), "ledger")
	k := &killing{t: t, random: rand.New(rand.NewPCG(seed, 0)), stderr: &output{}, log: churn.Log(ledger)}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	if k.store, err = db.create(t.Context(), quiet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.store.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("standard error of the workers:\n%s", k.stderr)
		}
	})
	// The clients start before the first worker, which would leave the store at the level of older ones.
	if _, _, err := upgrade.Finish(t.Context(), provider.FullOf(k.store), replay.EngineLevel, false); err != nil {
		t.Fatal(err)
	}
	reg := runtime.NewRegistry()
	if err := churn.Register(reg, k.log); err != nil {
		t.Fatal(err)
	}
	c := clienttest.New(t, k.store, client.Options{Errors: reg.Errors(), Logger: quiet})
	k.testClients = &testClients{client: c, random: rand.New(rand.NewPCG(seed, 1))}
	k.fleet = newFleet(t, db.name(), ledger, k.stderr)
	return k
}

// strike lets the clients do a part of their work and kills a worker at a random moment meanwhile. Every eighth time it
// first suspends another worker until its leases expire or nearly do. Every tenth time it also kills the successor
// while that opens the store. Every fifth time it restarts the server. The random moment is only the stimulus;
// nothing waits for it. Nine in ten kills go on to the next moment at which the worker has work in flight.
func (k *killing) strike(n int) {
	k.t.Helper()
	acted := make(chan error, 1)
	go func() { acted <- k.act(k.t.Context()) }()
	if n == k.midst {
		checked := make(chan struct{})
		go func() {
			defer close(checked)
			k.checkInvariants(k.t.Context(), invariant.Options{})
		}()
		defer func() { <-checked }()
	}
	victim, other := n%len(k.workers), (n+1)%len(k.workers)
	if n%8 == 3 {
		k.pause(other, lease+k.moment(-300, 500))
	}
	if n%5 == 4 && n != k.midst {
		k.restart()
	}
	k.ready(victim)
	k.pass(k.moment(20, 900))
	turns, activities := k.freezeAtWork(victim, n%10 != 9)
	k.t.Logf("kill %d: worker %d had %d turns and %d activities in flight", n+1, k.workers[victim].pid(), turns, activities)
	k.kill(victim)
	k.kills++
	if turns+activities > 0 {
		k.hits++
	}
	k.spawn(victim)
	if n%10 == 7 {
		k.pass(k.moment(0, 60))
		k.kill(victim)
		k.early++
		k.spawn(victim)
	}
	if err := <-acted; err != nil {
		k.t.Fatal(err)
	}
}

// moment returns a random time from low to high milliseconds.
func (k *killing) moment(low, high int) time.Duration {
	return time.Duration(low+k.random.IntN(high-low)) * time.Millisecond
}

// checkOutcomes waits until all plans have ended and checks their outcomes.
func (k *killing) checkOutcomes() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 5*time.Minute) // a slow machine takes more than one after the last kill
	defer cancel()
	if err := k.finish(ctx); err != nil {
		k.t.Fatal(err)
	}
	for _, o := range k.courses {
		if err := o.check(ctx); err != nil {
			k.t.Error(err)
		}
		if ctx.Err() != nil {
			k.reportUnended(k.t.Context())
			return
		}
	}
	// Children that were cancelled with their parents end later than the parents.
	for d := range k.running(k.t.Context()) {
		_, err := client.HandleOf[uint64](k.client, d.ID, d.Key).Wait(ctx, client.OrBlocked())
		if err != nil && !errors.Is(err, client.ErrFailed) {
			k.t.Errorf("%s: %v", d.ID, err)
		}
	}
}

// running returns the instances that have not ended.
func (k *killing) running(ctx context.Context) iter.Seq[client.Description] {
	k.t.Helper()
	return func(yield func(client.Description) bool) {
		for d, err := range k.client.All(ctx, client.Filter{Statuses: []client.Status{client.StatusRunning}}) {
			if err != nil {
				k.t.Fatal(err)
			}
			if !yield(d) {
				return
			}
		}
	}
}

// reportUnended reports the instances that have not ended in time.
func (k *killing) reportUnended(ctx context.Context) {
	k.t.Helper()
	count := 0
	for d := range k.running(ctx) {
		if count++; count > 10 {
			continue
		}
		d, err := client.HandleOf[uint64](k.client, d.ID, d.Key).Describe(ctx)
		text, _ := json.Marshal(d)
		k.t.Errorf("not ended: %s %v", text, err)
	}
	stats, err := provider.FullOf(k.store).Stats(ctx, provider.StatsRequest{})
	k.t.Errorf("%d instances have not ended; %+v %v", count, stats, err)
}

// output collects the output of several processes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
