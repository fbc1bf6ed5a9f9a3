package invariant_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// begin starts "begun" with a first turn that awaits activity 2, timer 3 and child 4. It reports whether the store
// has taken it.
func begin(e *enginetest.Engine, forget func(*provider.CommitTurnRequest)) bool {
	e.T.Helper()
	encode := func(b history.Body) []byte { return history.Encode(nil, history.Event{Body: b}) }
	start := func(id, name string) provider.CreateRequest {
		begin := &history.ExecutionStarted{Name: name, Settings: replay.SettingsAt(replay.EngineLevel)}
		return provider.CreateRequest{
			ID: id, Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: name, EngineLevel: replay.EngineLevel,
			Message: provider.NewMessage{Kind: provider.MessageKind(begin.Kind()), Payload: encode(begin)},
		}
	}
	req, child := start("begun", "Waits"), start("child of begun", "Listen")
	child.Parent = provider.Parent{Key: req.Key, ID: req.ID, Execution: 1, EventID: 4}
	due := provider.TimeOf(time.Now().Add(time.Hour))
	req.First = &provider.CommitTurnRequest{
		Key: req.Key, Execution: 1, Expected: req.Commit, Commit: enginetest.NewID(), Status: provider.StatusRunning,
		Events: [][]byte{
			req.Message.Payload, encode(&history.ActivityScheduled{Name: "nobody", Queue: "default"}),
			encode(&history.TimerCreated{Due: int64(due)}), encode(&history.ChildStarted{Name: child.Name, ID: child.ID, Key: child.Key}),
		},
		Tasks:  []provider.NewTask{{EventID: 2, Queue: "default", Name: "nobody"}},
		Timers: []provider.Timer{{EventID: 3, Kind: provider.MessageKind(history.KindTimerFired), Due: due}},
		Starts: []provider.Start{{Create: child}},
	}
	forget(req.First)
	res, err := e.Store.Create(e.T.Context(), req)
	if err != nil {
		e.T.Fatal(err)
	}
	return res.Begun
}

// An instance that began with its start is like any other.
func TestFirstTurn(t *testing.T) {
	for name, engine := range map[string]func(testing.TB, runtime.Options) *enginetest.Engine{
		"memory": enginetest.Memory, "sqlite": enginetest.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, runtime.Options{})
			begun := begin(e, func(*provider.CommitTurnRequest) {})
			if name == "memory" && !begun {
				t.Error("the store has ignored the first turn")
			}
			want(t, check(t, e.Store, invariant.Options{Idle: true}))
		})
	}
}

// An instance waits in vain for an operation that its first turn has forgotten.
func TestForgetfulFirstTurn(t *testing.T) {
	for finding, forget := range map[string]func(*provider.CommitTurnRequest){
		"stuck begun 2": func(r *provider.CommitTurnRequest) { r.Tasks = nil },
		"stuck begun 3": func(r *provider.CommitTurnRequest) { r.Timers = nil },
		"stuck begun 4": func(r *provider.CommitTurnRequest) { r.Starts = nil },
	} {
		e := enginetest.Memory(t, runtime.Options{})
		e.Unchecked("it is broken on purpose")
		begin(e, forget)
		want(t, check(t, e.Store, invariant.Options{Idle: true}), finding)
	}
}
