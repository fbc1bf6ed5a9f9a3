package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

var killSeed = flag.Uint64("kill.seed", 0, "seed of the moments at which workers are killed; 0: another one each time")

// implied computes what a plan ends with, apart from the code that runs it.
func implied(p churn.Plan) uint64 {
	sum := p.Sum
	for round := range uint64(p.Rounds) {
		mixed := func(step int) uint64 { return (p.Seed<<20 + round<<10 + uint64(step)) * 2654435761 }
		for step := range p.Steps {
			sum = sum*31 + mixed(step)
		}
		for i := range p.Width {
			sum = sum*31 + mixed(100+i)
		}
		sum = sum*31 + wordOf(p, int(round))
		sum = sum*31 + mixed(200)
	}
	return sum
}

// wordOf is the event that the test sends for a round.
func wordOf(p churn.Plan, round int) uint64 { return p.Seed*1000 + uint64(round) }

// killing is the state of one run of the kill test.
type killing struct {
	t      *testing.T
	binary string
	path   string
	client *client.Client
	store  provider.Provider
	random *rand.Rand
	plans  []churn.Plan
	starts []client.Handle[uint64]
	words  []word // not yet sent
	stderr bytes.Buffer
}

// word is an event for a round of a plan.
type word struct{ plan, round int }

// Workers are killed with SIGKILL ten times while a hundred orchestrations run, and all of
// them reach the outcome that their code implies.
func TestKilledWorkersLoseNothing(t *testing.T) {
	kills, count, steps := 10, 100, 12
	if testing.Short() {
		kills, count, steps = 2, 20, 2
	}
	k := newKilling(t, count, steps)
	for n := range kills {
		worker := k.spawn()
		k.surviveUntilKilled(worker)
		k.logKill(n + 1)
		// Each kill lets another part of the rounds come to their end, so that none hits idle workers only.
		k.sendWords(len(k.words) / (kills - n))
	}
	last := k.spawn()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, h := range k.starts {
		k.checkOutcome(ctx, k.plans[i], h)
	}
	if err := last.stop(); err != nil {
		t.Error(err)
	}
	k.checkStore()
	if t.Failed() {
		t.Logf("standard error of the workers:\n%s", &k.stderr)
	}
}

// newKilling starts all orchestrations and shuffles the words that their rounds wait for.
func newKilling(t *testing.T, count, steps int) *killing {
	t.Helper()
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat the moments of the kills with -kill.seed=%d", seed)
	k := &killing{t: t, binary: binary(t), path: filepath.Join(t.TempDir(), "kill.db"), random: rand.New(rand.NewPCG(seed, 0))}
	store, err := sqlite.Open(k.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	reg := runtime.NewRegistry()
	if err := churn.Register(reg); err != nil {
		t.Fatal(err)
	}
	k.store, k.client = store, client.New(store, client.Options{Errors: reg.Errors()})
	for i := range count {
		p := churn.Plan{Seed: uint64(i) + 1, Rounds: 1 + i%4, Steps: steps + i%8, Width: i % 5, Fail: i%10 == 9}
		h, err := client.Start(t.Context(), k.client, churn.Run, p, client.WithID(fmt.Sprintf("plan-%03d", p.Seed)))
		if err != nil {
			t.Fatal(err)
		}
		k.plans, k.starts = append(k.plans, p), append(k.starts, h)
		for round := range p.Rounds {
			k.words = append(k.words, word{i, round})
		}
	}
	k.shuffleWords()
	return k
}

// shuffleWords mixes the words of the plans; those of one plan stay in order.
func (k *killing) shuffleWords() {
	k.random.Shuffle(len(k.words), func(i, j int) { k.words[i], k.words[j] = k.words[j], k.words[i] })
	next := make(map[int]int)
	for i, w := range k.words {
		k.words[i].round = next[w.plan]
		next[w.plan]++
	}
}

// sendWords sends the next n words.
func (k *killing) sendWords(n int) {
	k.t.Helper()
	for _, w := range k.words[:n] {
		if err := k.starts[w.plan].Raise(k.t.Context(), churn.WordEvent, wordOf(k.plans[w.plan], w.round)); err != nil {
			k.t.Fatal(err)
		}
	}
	k.words = k.words[n:]
}

// logKill tells what the kill interrupted, and that it did.
func (k *killing) logKill(n int) {
	k.t.Helper()
	running, err := k.client.Count(k.t.Context(), client.Filter{Orchestration: "Run", Statuses: []client.Status{client.StatusRunning}})
	if err != nil {
		k.t.Fatal(err)
	}
	if running == 0 {
		k.t.Errorf("kill %d hit nothing: all orchestrations had ended", n)
	}
	stats, err := k.store.Stats(k.t.Context(), provider.StatsRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Logf("kill %d: %d of %d orchestrations were running, %d activities and %d turns were leased",
		n, running, len(k.plans), stats.TaskLeases, stats.TurnLeases)
}

func (k *killing) spawn() *workerProcess {
	k.t.Helper()
	args := []string{"worker", "--db", k.path, "--lease", "500ms", "--workload", workloadChurn, "--attached"}
	w, err := startProcess(k.binary, args, &k.stderr, func(notice) {})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = w.kill() }) // one that still runs: the test has failed
	return w
}

// surviveUntilKilled kills the worker at a random moment after it took up work. The
// moment is the test's stimulus; nothing waits for it to have passed.
func (k *killing) surviveUntilKilled(w *workerProcess) {
	k.t.Helper()
	select {
	case <-w.ready:
	case <-w.exited:
		k.t.Fatalf("worker: %v\n%s", w.unexpected("before it was ready"), &k.stderr)
	}
	moment := time.NewTimer(time.Duration(20+k.random.IntN(1000)) * time.Millisecond)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-w.exited:
		k.t.Fatalf("worker: %v\n%s", w.unexpected("before it was killed"), &k.stderr)
	}
	if err := w.kill(); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killing) checkOutcome(ctx context.Context, p churn.Plan, h client.Handle[uint64]) {
	k.t.Helper()
	got, err := h.Wait(ctx, client.OrBlocked())
	switch {
	case p.Fail && !errors.Is(err, churn.ErrBroken):
		k.t.Errorf("%s: got %d, %v; must fail with %v", h.ID(), got, err, churn.ErrBroken)
	case !p.Fail && (err != nil || got != implied(p)):
		k.t.Errorf("%s: got %d, %v; must be %d", h.ID(), got, err, implied(p))
	}
}

// checkStore reads back all that is stored: every history is whole, and nothing is left behind.
func (k *killing) checkStore() {
	k.t.Helper()
	executions := 0
	for d, err := range k.client.All(k.t.Context(), client.Filter{}) {
		if err != nil {
			k.t.Fatal(err)
		}
		if !d.Status.Ended() || d.Blocked != nil || d.InboxMessages != 0 {
			k.t.Errorf("%s is %s, blocked %+v, with %d messages: it must have ended and be empty", d.ID, d.Status, d.Blocked, d.InboxMessages)
		}
		for n := int64(1); n <= d.Execution; n++ {
			executions++
			k.checkHistory(d, n)
		}
	}
	stats, err := k.store.Stats(k.t.Context(), provider.StatsRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	if len(stats.Tasks) > 0 || len(stats.Turns) > 0 || stats.TaskLeases > 0 || stats.DeadLetters > 0 {
		k.t.Errorf("work is left behind: %+v", stats)
	}
	want := 0
	for _, p := range k.plans {
		want += 2 * p.Rounds // each with a child
	}
	if executions != want {
		k.t.Errorf("there are %d executions, must be %d", executions, want)
	}
}

// answers maps what is asked for to what answers it; each must be answered once.
var answers = map[string]string{
	"ActivityCompleted": "ActivityScheduled", "ActivityFailed": "ActivityScheduled",
	"ChildCompleted": "ChildStarted", "ChildFailed": "ChildStarted", "TimerFired": "TimerCreated",
}

func (k *killing) checkHistory(d client.Description, execution int64) {
	k.t.Helper()
	h := client.HandleOf[orchestration.None](k.client, d.ID, d.Key)
	at := fmt.Sprintf("%s execution %d", d.ID, execution)
	kinds := make(map[int64]string)
	answered := make(map[int64]int)
	last := int64(0)
	for e, err := range h.History(k.t.Context(), execution) {
		if err != nil {
			k.t.Errorf("%s: %v", at, err)
			return
		}
		if last++; e.ID != last {
			k.t.Errorf("%s: event %d stands where event %d should be", at, e.ID, last)
		}
		kinds[e.ID] = e.Kind
		if asked, ok := answers[e.Kind]; ok {
			answered[e.Ref]++
			if kinds[e.Ref] != asked {
				k.t.Errorf("%s: event %d (%s) answers event %d, a %q", at, e.ID, e.Kind, e.Ref, kinds[e.Ref])
			}
		}
	}
	for id, kind := range kinds {
		asks := kind == "ActivityScheduled" || kind == "ChildStarted" || kind == "TimerCreated"
		if asks && answered[id] != 1 {
			k.t.Errorf("%s: event %d (%s) was answered %d times", at, id, kind, answered[id])
		}
	}
}
