package weaknesses

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type (
	octx   = orchestration.Context
	none   = orchestration.None
	engine = enginetest.Engine
)

// claims are the claims of a test about its weakness, by name.
type claims map[string]func(e *engine)

// inEveryMode tests each claim on memory in virtual time, in every cache mode.
func inEveryMode(t *testing.T, all claims) {
	t.Helper()
	for name, claim := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, claim)
		})
	}
}

// inEveryStore also tests each claim on SQLite in real time, unless it already failed on memory.
func inEveryStore(t *testing.T, all claims) {
	t.Helper()
	for name, claim := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !t.Run("in virtual time", func(t *testing.T) { enginetest.EveryMode(t, claim) }) {
				return
			}
			if testing.Short() { // only in virtual time
				return
			}
			t.Run("sqlite/cached", func(t *testing.T) { claim(enginetest.SQLite(t, runtime.Options{})) })
			t.Run("sqlite/evicted", func(t *testing.T) {
				claim(enginetest.SQLite(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}))
			})
		})
	}
}

var errRefused = errors.New("refused")

// Double is an activity that succeeds.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// Refuse is an activity that fails.
func Refuse(context.Context, none) (none, error) { return none{}, errRefused }

// Hang is an activity that runs until it is cancelled, and obeys.
func Hang(ctx context.Context, _ none) (none, error) {
	<-ctx.Done()
	return none{}, context.Cause(ctx)
}

// Echo is a child that returns its input.
func Echo(_ *octx, n int) (int, error) { return n, nil }

// registry makes a registry with what most claims use.
func registry(e *engine) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddActivity(reg, Refuse), runtime.AddActivity(reg, Hang),
		runtime.AddOrchestration(reg, Echo))
	if err != nil {
		e.T.Fatal(err)
	}
	return reg
}

// start registers an orchestration as "main", starts a node and an instance of it.
func start[In, Out any](e *engine, reg *runtime.Registry, fn func(*octx, In) (Out, error), in In) provider.UUID {
	e.T.Helper()
	enginetest.Orchestration(e.T, reg, "main", fn)
	e.Start(reg)
	return e.Create("main", "main", in)
}

// patience returns how long a test waits, and how long between two polls. Hours cost little in virtual time.
func patience(e *engine) (limit, look time.Duration) {
	if e.Virtual {
		return 3 * time.Hour, time.Second
	}
	return 2 * time.Minute, 5 * time.Millisecond
}

// until waits until cond holds.
func until(e *engine, what string, cond func() bool) {
	e.T.Helper()
	limit, look := patience(e)
	for began := time.Now(); !cond(); {
		if time.Since(began) > limit {
			e.T.Fatalf("waited for %v: %s", limit, what)
		}
		<-time.After(look)
	}
}

// ended waits for the end of an instance.
func ended(e *engine, key provider.UUID) provider.Instance {
	e.T.Helper()
	limit, _ := patience(e)
	for began := time.Now(); ; {
		res, err := e.Store.Get(e.T.Context(), provider.GetRequest{Key: key, WaitEnded: true, Wait: limit / 10})
		if err != nil {
			e.T.Fatal(err)
		}
		if res.Instance.Status.Ended() {
			return res.Instance
		}
		if time.Since(began) > limit {
			e.T.Fatalf("has not ended after %v: %+v, blocked %+v, tasks %+v", limit, res.Instance, res.Instance.Blocked, e.Tasks(key))
		}
	}
}

// want waits for the output of an instance and compares it.
func want[Out comparable](e *engine, key provider.UUID, out Out) {
	e.T.Helper()
	ended(e, key)
	if got := enginetest.Output[Out](e, key); got != out {
		e.T.Errorf("got %v, want %v", got, out)
	}
}

// wantStatus waits for the end of an instance and compares its status.
func wantStatus(e *engine, key provider.UUID, status provider.Status) {
	e.T.Helper()
	if i := ended(e, key); i.Status != status {
		e.T.Errorf("%s ended as %v, want %v", i.ID, i.Status, status)
	}
}

// faultyNode returns a plan of faults, and the engine's store with these faults.
func faultyNode(e *engine) (*faulty.Plan, provider.Provider) {
	plan := faulty.NewPlan(1)
	return plan, faulty.Wrap(e.Store, plan)
}

// newClient makes a client of the engine's store.
func newClient(e *engine) *client.Client {
	return e.Client(client.Options{})
}

// send puts a message into an inbox, as a child, a timer or a worker would.
func send(e *engine, key provider.UUID, execution int64, body history.Body) {
	e.T.Helper()
	_, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: provider.NewMessage{
		Kind: provider.MessageKind(body.Kind()), Execution: execution, Payload: history.Encode(nil, history.Event{Body: body}),
	}})
	if err != nil {
		e.T.Fatalf("sending %v: %v", body.Kind(), err)
	}
}

// byID returns the instance that an ID names now. ok is false if there is none.
func byID(e *engine, id string) (i provider.Instance, ok bool) {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: id})
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		e.T.Fatal(err)
	}
	return res.Instance, err == nil
}

// await waits until an instance of the ID exists whose code has run.
func await(e *engine, id string) provider.UUID {
	e.T.Helper()
	var key provider.UUID
	until(e, "instance "+id+" runs", func() bool {
		i, ok := byID(e, id)
		key = i.Key
		return ok && i.HistoryLength > 0
	})
	return key
}

// children lists the instances under a parent, newest first.
func children(e *engine, parent provider.UUID) []provider.Instance {
	e.T.Helper()
	res, err := e.Store.List(e.T.Context(), provider.ListRequest{Filter: provider.Filter{ParentKey: parent}})
	if err != nil {
		e.T.Fatal(err)
	}
	return res.Instances
}

func stats(e *engine) provider.StatsResult {
	e.T.Helper()
	res, err := e.Store.Stats(e.T.Context(), provider.StatsRequest{})
	if err != nil {
		e.T.Fatal(err)
	}
	return res
}

// kinds returns the event kinds of an execution in order.
func kinds(e *engine, key provider.UUID, execution int64) string {
	e.T.Helper()
	var names []string
	for _, event := range e.History(key, execution) {
		names = append(names, event.Body.Kind().String())
	}
	return strings.Join(names, " ")
}

// pass lets virtual time pass.
func pass(e *engine, d time.Duration) {
	e.T.Helper()
	if !e.Virtual {
		e.T.Fatalf("real time must not be slept away")
	}
	time.Sleep(d) //nolint:forbidigo // virtual time
}

func echo(_ context.Context, n int) (int, error) { return n, nil }
