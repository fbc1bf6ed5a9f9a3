package bench

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

// The cost of a unit of work must not depend on the amount of work. The tests compare small with large amounts. Their
// counts do not depend on the machine: allocations of the whole process, turns, and reads of histories.

// slack is the fraction by which a unit of a large amount may cost more than one of a small amount. Buffers double now
// and then.
const slack = 0.5

// spent is the cost of a run.
type spent struct{ allocations, bytes float64 }

// spending returns the cost of the process so far.
func spending() spent {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return spent{float64(m.Mallocs), float64(m.TotalAlloc)}
}

// since returns the cost per unit of n units.
func (s spent) since(before spent, n int) spent {
	return spent{(s.allocations - before.allocations) / float64(n), (s.bytes - before.bytes) / float64(n)}
}

// flat reports whether a unit of a large amount costs no more than one of a small amount.
func flat(few, many spent) bool {
	return many.allocations <= few.allocations*(1+slack) && many.bytes <= few.bytes*(1+slack)
}

// checkFlat fails if a unit of a large amount costs more than one of a small amount.
func checkFlat(t *testing.T, few, many spent) {
	t.Helper()
	t.Logf("each: %.0f allocations and %.0f bytes of few, %.0f and %.0f of many", few.allocations, few.bytes, many.allocations, many.bytes)
	if !flat(few, many) {
		t.Errorf("a unit of many costs more than one of few")
	}
}

// watched is a store that counts calls.
type watched struct {
	*provider.Full

	reads   atomic.Int64 // reads of histories
	turns   atomic.Int64 // fetched turns
	commits atomic.Int64
	at      func(commit int64)
}

func (w *watched) Unwrap() provider.Provider { return w.Provider }

func (w *watched) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	w.reads.Add(1)
	return w.Provider.ReadHistory(ctx, req)
}

func (w *watched) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := w.Provider.FetchTurns(ctx, req)
	w.turns.Add(int64(len(res.Turns)))
	return res, err
}

func (w *watched) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	res, err := w.Provider.CommitTurn(ctx, req)
	if n := w.commits.Add(1); w.at != nil {
		w.at(n)
	}
	return res, err
}

// onDatabases runs a test on a new store of each kind of database, with a size for each.
func onDatabases(t *testing.T, inFile, inPostgres int, test func(t *testing.T, store provider.Provider, size int)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "flat.db"))
		if err != nil {
			t.Fatal(err)
		}
		test(t, store, inFile)
	})
	t.Run("postgres", func(t *testing.T) {
		url := postgrestest.URL(t)
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, store, inPostgres)
	})
}

// run runs an orchestration to its end.
func run[In any](t *testing.T, n *workload.Node, fn func(*orchestration.Context, In) (int, error), in In) {
	t.Helper()
	h, err := client.Start(t.Context(), n.Client, fn, in)
	if err == nil {
		_, err = h.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The last steps of a long chain cost the same as the first ones, and read no history. On a stalled machine a step
// may take the slow path, which costs more, so the cheapest parts of both ends are compared.
func TestFlatTurns(t *testing.T) {
	test := func(t *testing.T, store provider.Provider, steps int) {
		const warm, part, parts = 50, 50, 8 // commits that do not count, and commits that are measured together
		var marks []spent
		w := &watched{Full: provider.FullOf(store)}
		w.at = func(n int64) {
			if n >= warm && (n-warm)%part == 0 {
				marks = append(marks, spending())
			}
		}
		n, end := onStore(t, w)
		t.Cleanup(end)
		run(t, n, workload.Chain, workload.Load{N: steps})
		cheapest := func(marks []spent) spent {
			least := marks[1].since(marks[0], part)
			for i := range marks[1:] {
				s := marks[i+1].since(marks[i], part)
				least = spent{min(least.allocations, s.allocations), min(least.bytes, s.bytes)}
			}
			return least
		}
		checkFlat(t, cheapest(marks[:parts]), cheapest(marks[len(marks)-parts:]))
		if reads := w.reads.Load(); reads > 0 {
			t.Errorf("the history was read %d times", reads)
		}
	}
	t.Run("memory", func(t *testing.T) { test(t, memory.New(memory.Options{}), 10_000) })
	onDatabases(t, 4_000, 1_000, test)
}

// An activity among ten thousand parallel ones costs the same as one among a thousand. On a stalled machine results
// may take the slow path, so the cheapest of three runs counts.
func TestFlatFanIn(t *testing.T) {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "flat.db"))
	if err != nil {
		t.Fatal(err)
	}
	n, end := onStore(t, store)
	t.Cleanup(end)
	fan := func(size int) (least spent) {
		for i := range 3 {
			before := spending()
			run(t, n, workload.Fan, workload.Load{N: size})
			if s := spending().since(before, size); i == 0 || s.bytes < least.bytes {
				least = s
			}
		}
		return least
	}
	few := fan(1_000)
	checkFlat(t, few, fan(10_000))
}

// A message costs the same whether a thousand or ten thousand wait for an instance, and no turn takes more messages
// than fit.
func TestFlatInbox(t *testing.T) {
	onDatabases(t, 10_000, 4_000, func(t *testing.T, store provider.Provider, many int) {
		drain := func(size int) spent {
			w := &watched{Full: provider.FullOf(store)}
			starter, err := workload.NewClient(store, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			h, err := client.Start(t.Context(), starter.Client, workload.Gather, size)
			if err != nil {
				t.Fatal(err)
			}
			senders, ctx := errgroup.WithContext(t.Context())
			senders.SetLimit(64)
			for range size {
				senders.Go(func() error { return h.Raise(ctx, "event", workload.Reply{Text: "hello"}) })
			}
			if err := senders.Wait(); err != nil {
				t.Fatal(err)
			}
			before := spending()
			n, err := workload.NewNode(t.Context(), w, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Wait(t.Context())
			cost := spending().since(before, size)
			if err := errors.Join(err, n.Close(context.WithoutCancel(t.Context()))); err != nil {
				t.Fatal(err)
			}
			if turns, most := w.turns.Load(), int64(size/provider.MaxFetchMessages+2); turns > most {
				t.Errorf("%d messages took %d turns, want at most %d", size, turns, most)
			}
			return cost
		}
		drain(100)
		few, all := drain(many/10), drain(many)
		// Other load adds to the cost, and more so over a longer time, so the cheapest of some drains counts.
		for range 4 {
			if flat(few, all) {
				break
			}
			again := drain(many)
			all = spent{min(all.allocations, again.allocations), min(all.bytes, again.bytes)}
		}
		checkFlat(t, few, all)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
