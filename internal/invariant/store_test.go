package invariant_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// Waits awaits one operation of each kind: activity 2, which is never run, timer 3 and child 4. Activity 5 has
// completed as event 6, and event 7 was received with the request ID "r".
func Waits(ctx *octx, _ none) (none, error) {
	forever := orchestration.StartActivityNamed[none](ctx, "nobody", none{})
	orchestration.StartTimer(ctx, time.Hour)
	orchestration.StartOrchestration(ctx, Listen, none{}, orchestration.WithInstanceID("child"))
	if _, err := orchestration.CallActivity(ctx, Double, 2); err != nil {
		return none{}, err
	}
	if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
		return none{}, err
	}
	return forever.Get(ctx)
}

// Listen waits for an event, for ever.
func Listen(ctx *octx, _ none) (none, error) {
	return orchestration.Events[none](ctx, "never").Receive(ctx)
}

// Again continues as new once and then waits.
func Again(ctx *octx, n int) (none, error) {
	if n > 0 {
		return none{}, orchestration.ContinueAsNew(ctx, n-1)
	}
	return Listen(ctx, none{})
}

// Whole completes after a child and an activity.
func Whole(ctx *octx, n int) (int, error) {
	if n == 0 {
		return orchestration.CallActivity(ctx, Double, 21)
	}
	return orchestration.CallOrchestration(ctx, Whole, n-1)
}

var errNo = errors.New("no")

// Fail fails.
func Fail(*octx, none) (none, error) { return none{}, errNo }

// Double is an activity.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddOrchestration(reg, Waits), runtime.AddOrchestration(reg, Listen),
		runtime.AddOrchestration(reg, Again), runtime.AddOrchestration(reg, Whole), runtime.AddOrchestration(reg, Fail))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// populate makes an instance of each kind: "waits" with its child "child", "again" in its second execution, "done"
// with a child, "failed", and "new".
func populate(e *enginetest.Engine) {
	e.T.Helper()
	node := e.Start(registry(e.T))
	waits, again := e.Create("waits", "Waits", none{}), e.Create("again", "Again", 1)
	done, failed := e.Create("done", "Whole", 1), e.Create("failed", "Fail", none{})
	e.Until("the activity is done", func() bool { return e.Get(waits).HistoryLength == 6 })
	e.RaiseAs(waits, "go", 1, "r")
	e.WaitEnded(done)
	e.WaitEnded(failed)
	e.Until("all wait", func() bool { return e.Get(waits).HistoryLength == 7 && e.Get(again).HistoryLength == 2 })
	e.Until("the child waits", func() bool {
		res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: "child"})
		return err == nil && res.Instance.HistoryLength == 1
	})
	e.Stop(node)
	e.Create("new", "Listen", none{})
}

// file returns a SQLite file with the instances of populate, closed.
func file(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	t.Run("sound", func(t *testing.T) {
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		populate(enginetest.On(t, store, runtime.Options{})) // and checked when this subtest ends
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A broken store is a copy of a sound one that a test spoils behind the back of perdure.
type broken struct {
	t    *testing.T
	path string
}

func spoil(t *testing.T, data []byte) broken {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broken.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return broken{t, path}
}

// exec runs statements; @name stands for the key of the instance with that ID.
func (b broken) exec(statements ...string) {
	b.t.Helper()
	for _, s := range statements {
		b.run(keyOf.ReplaceAllString(s, "(SELECT key FROM perdure_instance WHERE id = '$1')"))
	}
}

// run runs a statement that must change something.
func (b broken) run(statement string, args ...any) {
	b.t.Helper()
	db, err := sql.Open("sqlite", b.path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		b.t.Fatal(err)
	}
	changed := int64(0)
	res, err := db.ExecContext(b.t.Context(), statement, args...)
	if err == nil {
		changed, err = res.RowsAffected()
	}
	if err = errors.Join(err, db.Close()); err != nil || changed == 0 {
		b.t.Fatalf("%s: %d rows changed, %v", statement, changed, err)
	}
}

// extend appends events to the history of "waits", as a turn would.
func (b broken) extend(bodies ...history.Body) {
	b.t.Helper()
	for _, body := range bodies {
		event := history.Encode(nil, history.Event{Body: body})
		b.run(`INSERT INTO perdure_history (key, execution, first_id, events, data)
			SELECT key, 1, history_length + 1, 1, ? FROM perdure_instance WHERE id = 'waits'`,
			append(binary.AppendUvarint(nil, uint64(len(event))), event...))
		b.run(`UPDATE perdure_instance SET history_length = history_length + 1, history_bytes = history_bytes + ?
			WHERE id = 'waits'`, len(event))
	}
}

// terminate ends an instance without telling its family.
func (b broken) terminate(id string) {
	b.t.Helper()
	store, err := sqlite.Open(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	terminate(b.t, store, id)
	if err := store.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func terminate(t *testing.T, store provider.Provider, id string) {
	t.Helper()
	_, err := store.Steer(t.Context(), provider.SteerRequest{
		ID: id, Action: provider.SteerTerminate, Commit: enginetest.NewID(),
		Event:  history.Encode(nil, history.Event{Body: &history.ExecutionTerminated{}}),
		Result: history.EncodeOutcome(history.Outcome{Failure: &history.Failure{Message: "terminated"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// check reads the store as it is: opening it for work would repair some things.
func (b broken) check(o invariant.Options) invariant.Report {
	b.t.Helper()
	view, err := sqlite.OpenWith(b.path, sqlite.Options{ReadOnly: true})
	if err != nil {
		b.t.Fatal(err)
	}
	report, err := invariant.Check(b.t.Context(), view, o)
	if err = errors.Join(err, view.Close()); err != nil {
		b.t.Fatal(err)
	}
	if len(report.Skipped) > 0 {
		b.t.Errorf("skipped: %v", report.Skipped)
	}
	return report
}
