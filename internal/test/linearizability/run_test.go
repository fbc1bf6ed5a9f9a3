package linearizability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

var (
	runsFlag = flag.Int("linearizability.runs", 0, "runs on each store; 0: ten, or one with -short")
	seedFlag = flag.Uint64("linearizability.seed", 0, "seed of the first run; 0: of the moment")
	outFlag  = flag.String("linearizability.out", os.TempDir(), "folder for the pictures of histories that are not linearizable")
)

const (
	length   = 1500 * time.Millisecond // of a run
	subjects = 3                       // IDs of a run
	callers  = 5                       // of a run
	share    = 10                      // runs that share a store
)

// Clients call the same few instances while the processes of the nodes are killed. Each history of an ID is linearizable.
func TestCallsAreLinearizable(t *testing.T) {
	for name, where := range map[string]func(*testing.T) address{
		"sqlite": func(t *testing.T) address { return address{Name: filepath.Join(t.TempDir(), "store.db")} },
		"postgres": func(t *testing.T) address {
			url := postgrestest.URL(t)
			return address{Name: url, Schema: postgrestest.Schema(t, url)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "postgres" {
				longtest.Skip(t)
			}
			runs, seed := *runsFlag, *seedFlag
			if runs == 0 {
				runs = longtest.Pick(1, 10)
			}
			if seed == 0 {
				seed = uint64(time.Now().UnixNano()) % 1e9
			}
			var n counts
			began := time.Now()
			for first := 0; first < runs && !t.Failed(); first += share {
				more := min(share, runs-first)
				playOn(t, where(t), seed+uint64(first), more, &n)
				t.Logf("%d runs from seed %d in %v: %d calls, %d with an unknown outcome, %d cut without effect, %d kills, %d of %d histories undecided",
					first+more, seed, time.Since(began).Round(time.Second),
					n.calls.Load(), n.unknown.Load(), n.cut.Load(), n.kills.Load(), n.undecided.Load(), n.histories.Load())
			}
			if n.undecided.Load()*20 > n.histories.Load() {
				t.Error("more than one history in twenty is undecided: the others show little")
			}
			if n.unknown.Load() == 0 && runs > 1 || n.kills.Load() == 0 {
				t.Error("the faults have hit nothing")
			}
		})
	}
}

// A field is a store with nodes that are killed, and the clients of the runs on it.
type field struct {
	t       *testing.T
	clients []*client.Client
	counts  *counts
	calm    sync.RWMutex // nodes are killed with it; the last calls of a run hold it for reading
}

// playOn plays runs on a store, two at a time.
func playOn(t *testing.T, at address, seed uint64, runs int, n *counts) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	f := &field{t: t, counts: n}
	quiet := client.Options{Logger: slog.New(slog.DiscardHandler)}
	stores := make([]provider.Provider, 3)
	for i := range stores {
		store, err := at.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // nothing depends on its end
		c, err := client.New(store, quiet)
		if err != nil {
			t.Fatal(err)
		}
		stores[i], f.clients = store, append(f.clients, c)
	}
	if random.IntN(2) == 0 { // one of the clients has a node
		n := randomNode(at, random)
		rt, err := n.start(t.Context(), stores[0])
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Shutdown(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing depends on its end
		if f.clients[0], err = rt.Client(quiet); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	var nodes sync.WaitGroup
	first := make(chan struct{}, 2) // the store takes updates once a node has started
	for i := range 2 {
		random := rand.New(rand.NewPCG(seed, 1+uint64(i)))
		nodes.Go(func() { f.crash(ctx, at, random, first) })
	}
	<-first
	var running sync.WaitGroup
	var next atomic.Int64
	for range 2 {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(runs); i = next.Add(1) - 1 {
				f.run(ctx, seed+uint64(i))
			}
		})
	}
	running.Wait()
	end()
	nodes.Wait()
}

// maxFailed is how often in a row a node may fail to start.
const maxFailed = 5

// crash starts nodes and kills them, one after the other. It says when the first takes work, or when there is none.
func (f *field) crash(ctx context.Context, at address, random *rand.Rand, first chan<- struct{}) {
	var once sync.Once
	ready := func() { once.Do(func() { first <- struct{}{} }) }
	defer ready()
	for failed := 0; ctx.Err() == nil; {
		n := randomNode(at, random)
		err := n.crash(ctx, ready, between(random, 50*time.Millisecond, 600*time.Millisecond), &f.calm)
		if err == nil {
			f.counts.kills.Add(1)
			failed = 0
			continue
		}
		if failed++; failed == maxFailed || !errors.Is(err, errNotStarted) {
			f.t.Error(err)
			return
		}
		f.t.Log(err) // the machine is busy, or the store
		pause(ctx, time.Second)
	}
}

// run lets clients call a few IDs, and checks their histories.
func (f *field) run(ctx context.Context, seed uint64) {
	all := make([]*subject, subjects)
	for i := range all {
		all[i] = &subject{id: fmt.Sprintf("run-%d-%d", seed, i), epoch: time.Now()}
	}
	short, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var names atomic.Int64
	var calling sync.WaitGroup
	for i := range callers {
		random := rand.New(rand.NewPCG(seed, 100+uint64(i)))
		c := &caller{t: f.t, number: i, client: f.clients[random.IntN(len(f.clients))], random: random, names: &names, counts: f.counts}
		calling.Go(func() {
			for short.Err() == nil {
				if s := all[random.IntN(len(all))]; s.begin(maxCalls - maxReads) {
					c.act(ctx, s)
				}
				pause(short, between(random, 0, 10*time.Millisecond))
			}
		})
	}
	calling.Wait()
	random := rand.New(rand.NewPCG(seed, 99))
	c := &caller{t: f.t, number: callers, client: f.clients[random.IntN(len(f.clients))], random: random, names: &names, counts: f.counts}
	f.calm.RLock() // what was lost with nodes too often runs later than the next one is killed
	for _, s := range all {
		c.look(ctx, s)
	}
	f.calm.RUnlock()
	for _, s := range all {
		check(f.t, s, f.counts)
	}
}
