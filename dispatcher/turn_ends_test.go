package dispatcher_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

var updateEnds = flag.Bool("ends.update", false, "store the table of the ends of turns as it is now")

// The origins of a turn.
const (
	firstTurn   = "first"   // made and stored by the start
	fetchedTurn = "fetched" // of messages that a fetch brought
	resultTurn  = "result"  // of a result that has not left the node
)

// The outcomes of a turn.
const (
	endStored    = "stored"
	endConflict  = "conflict"
	endNotEmpty  = "inbox not empty"
	endRefused   = "refused"
	endOutage    = "outage"    // nothing is stored, for longer than the node tries
	endUnknown   = "unknown"   // it is stored, and no answer arrives for longer than the node tries
	endAbandoned = "abandoned" // its code does not return
	endPanicked  = "panicked"  // the provider panics
)

func origins() []string { return []string{firstTurn, fetchedTurn, resultTurn} }

func outcomes() []string {
	return []string{endStored, endConflict, endNotEmpty, endRefused, endOutage, endUnknown, endAbandoned, endPanicked}
}

// endingStore ends one turn as its cell of the table says, and counts the calls from then on.
type endingStore struct {
	*provider.Full

	origin, outcome string

	mu    sync.Mutex
	cut   provider.UUID // the commit ID of the turn
	until time.Time     // of an outage or of lost answers
	calls map[string]int
}

// Unwrap makes the optional features reachable.
func (s *endingStore) Unwrap() provider.Provider { return s.Full }

// notef counts a call after the end of the turn.
func (s *endingStore) notef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cut.IsZero() {
		s.calls[fmt.Sprintf(format, args...)]++
	}
}

// ends reports whether a call stores the turn of the cell, for the first time or again.
func (s *endingStore) ends(origin string, commit provider.UUID) (first, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.cut.IsZero() && origin == s.origin && s.outcome != endAbandoned; first {
		s.cut, s.until = commit, time.Now().Add(2*time.Minute)
	}
	return first, s.cut == commit
}

// repeated names a call that is made again. How often it is follows from pauses that are drawn.
func repeated(first, ends bool) string {
	if ends && !first {
		return "repeat of the "
	}
	return ""
}

func (s *endingStore) lasts() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until)
}

// end ends a call that stores the turn. store stores it.
func (s *endingStore) end(store func() error) error {
	failed := func(outcome provider.Outcome, err error) error {
		return &provider.Error{Op: "commit turn", Outcome: outcome, Retryable: true, Err: err}
	}
	switch s.outcome {
	case endConflict:
		return fmt.Errorf("%w: by the test", provider.ErrConflict)
	case endNotEmpty:
		return fmt.Errorf("%w: by the test", provider.ErrInboxNotEmpty)
	case endRefused:
		return fmt.Errorf("%w: by the test", provider.ErrInvalid)
	case endOutage:
		if s.lasts() {
			return failed(provider.OutcomeNothing, errors.New("the test has cut the connection"))
		}
	case endUnknown:
		if err := store(); err != nil {
			return err
		}
		if s.lasts() {
			return failed(provider.OutcomeUnknown, errors.New("the test has lost the answer"))
		}
		return nil
	case endPanicked:
		s.mu.Lock()
		panics := s.until != time.Time{}
		s.until = time.Time{}
		s.mu.Unlock()
		if panics {
			panic("by the test")
		}
	}
	return store()
}

// Create implements [provider.Provider].
func (s *endingStore) Create(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, err error) {
	store := func() error {
		res, err = s.Full.Create(ctx, req)
		return err
	}
	if req.First == nil {
		s.notef("create")
		return res, store()
	}
	first, ends := s.ends(firstTurn, req.Commit)
	s.notef("%screate with a turn", repeated(first, ends))
	if ends {
		return res, s.end(store)
	}
	return res, store()
}

// CommitTurn implements [provider.Provider].
func (s *endingStore) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	origin := fetchedTurn
	if len(req.Completes) > 0 {
		origin = resultTurn
	}
	store := func() error {
		res, err = s.Full.CommitTurn(ctx, req)
		return err
	}
	first, ends := s.ends(origin, req.Commit)
	s.notef("%scommit of a %s turn, leases %d tasks", repeated(first, ends), origin, len(req.Tasks))
	if ends {
		return res, s.end(store)
	}
	return res, store()
}

// ReleaseTurns implements [provider.Provider].
func (s *endingStore) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	for i := range req.Items {
		s.notef("release of a turn, %s", []string{"clean", "failed", "by token", "unpin"}[req.Items[i].Kind])
	}
	return s.Full.ReleaseTurns(ctx, req)
}

// ReportTasks implements [provider.Provider].
func (s *endingStore) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	for i := range req.Items {
		s.notef("report of a task, outcome %d", req.Items[i].Outcome)
	}
	return s.Full.ReportTasks(ctx, req)
}

// FetchTurns implements [provider.Provider].
func (s *endingStore) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := s.Full.FetchTurns(ctx, req)
	for range res.Turns {
		s.notef("fetched turn")
	}
	return res, err
}

// FetchTasks implements [provider.Provider].
func (s *endingStore) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := s.Full.FetchTasks(ctx, req)
	for range res.Tasks {
		s.notef("fetched task")
	}
	return res, err
}

// Each way in which a turn can end gives back what the turn has held, leaves nothing behind and counts once, whatever it was made
// of. The table says what happens: the calls of the store from the commit on, the counters of the node, and how long it took.
func TestHazard94_EveryEndOfATurn(t *testing.T) { //nolint:tparallel // the table is compared when all cells are there
	t.Parallel()
	var mu sync.Mutex
	cells := make(map[string]string)
	t.Run("cells", func(t *testing.T) {
		for _, origin := range origins() {
			for _, outcome := range outcomes() {
				t.Run(origin+"/"+outcome, func(t *testing.T) {
					t.Parallel()
					enginetest.Bubble(t, runtime.Options{DeadlockLimit: time.Second}, func(e *enginetest.Engine) {
						cell := endTurn(e, origin, outcome)
						mu.Lock()
						defer mu.Unlock()
						cells[origin+", "+outcome] = cell
					})
				})
			}
		}
	})
	var got strings.Builder
	for _, origin := range origins() {
		for _, outcome := range outcomes() {
			fmt.Fprintf(&got, "%s, %s\n%s\n", origin, outcome, cells[origin+", "+outcome])
		}
	}
	path := filepath.Join("testdata", "turn-ends.golden")
	if *updateEnds {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cell := range strings.SplitSeq(strings.TrimSpace(got.String()), "\n\n") {
		if !strings.Contains(string(want), cell+"\n") {
			t.Errorf("a turn ends in another way than %s says:\n%s", path, cell)
		}
	}
}

// endTurn makes a turn end, lets its instance end, and describes what has happened.
func endTurn(e *enginetest.Engine, origin, outcome string) string {
	e.T.Helper()
	store := &endingStore{Full: e.Store, origin: origin, outcome: outcome, calls: make(map[string]int)}
	reg := registry(e.T)
	var runs, turns atomic.Int64
	enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
		runs.Add(1)
		return n, nil
	})
	hang := make(chan none)
	stuck := func(at string) { // once: code that is run again passes
		if outcome == endAbandoned && origin == at && turns.Add(1) == 1 {
			store.mu.Lock()
			store.cut = enginetest.NewID()
			store.mu.Unlock()
			<-hang
		}
	}
	enginetest.Orchestration(e.T, reg, "steps", func(ctx *octx, n int) (int, error) {
		if origin != resultTurn {
			stuck(origin)
		}
		for range 2 {
			if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
				return 0, err
			}
			stuck(resultTurn)
		}
		return n, nil
	})
	rt := e.StartOn(store, reg, e.Options)
	synctest.Wait() // a node takes first turns once it knows the storage's time
	began := time.Now()
	end := ""
	if origin == firstTurn {
		c := clienttest.New(e.T, store, client.Options{Node: rt.Node(), Logger: slog.New(slog.DiscardHandler)})
		h, err := client.StartNamed[int](e.T.Context(), c, "steps", 7, client.WithID("one"))
		if err == nil {
			_, err = h.Wait(e.T.Context())
		}
		if err != nil {
			end = "is told: " + err.Error()
		}
	} else if got := enginetest.Output[int](e, e.Create("one", "steps", 7)); got != 7 {
		e.T.Errorf("the instance ends with %d", got)
	}
	if end == "" {
		end = fmt.Sprintf("ends %s, after %d runs of activities", within(time.Since(began)), runs.Load())
	}
	close(hang)
	synctest.Wait()
	described := endsOf(e, store, rt, end)
	// Nothing is held: another instance passes through turns of all kinds in no time.
	again := time.Now()
	if out := enginetest.Output[int](e, e.Create("two", "steps", 8)); out != 8 || time.Since(again) > time.Second {
		e.T.Errorf("the next instance ends with %d after %v", out, time.Since(again))
	}
	return described
}

// within describes a time: pauses between tries are drawn.
func within(took time.Duration) string {
	for _, limit := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 30 * time.Second} {
		if took < limit {
			return fmt.Sprintf("within %v", limit)
		}
	}
	return fmt.Sprintf("after %v", took)
}

// endsOf describes what the store and the node have seen.
func endsOf(e *enginetest.Engine, store *endingStore, rt *runtime.Runtime, end string) string {
	e.T.Helper()
	lines := []string{"  " + end}
	store.mu.Lock()
	for _, call := range slices.Sorted(maps.Keys(store.calls)) {
		count := fmt.Sprint(store.calls[call])
		if strings.HasPrefix(call, "repeat") {
			count = "n"
		}
		lines = append(lines, fmt.Sprintf("  %s x %s", count, call))
	}
	store.mu.Unlock()
	s := rt.Stats()
	lines = append(lines, fmt.Sprintf("  counted: %d committed, %d fast, %d eager, %d conflicts, %d failed, %d stuck, %d cold, %d evicted, %d handed off, %d lost leases",
		s.TurnsCommitted, s.TurnsFast, s.TurnsEager, s.TurnsConflicted, s.TurnsFailed, s.TurnsStuck, s.ColdReplays, s.CacheEvictions, s.TasksHandedOff, s.LeasesLost))
	if s.TurnsRunning != 0 || s.AttemptsRunning != 0 {
		e.T.Errorf("%d turns and %d attempts still run", s.TurnsRunning, s.AttemptsRunning)
	}
	return strings.Join(lines, "\n") + "\n"
}
