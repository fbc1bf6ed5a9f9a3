package moving

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

// stores opens a store of each kind.
var stores = map[string]func(t *testing.T) provider.Provider{
	"memory": func(*testing.T) provider.Provider { return memory.New(memory.Options{}) },
	"sqlite": func(t *testing.T) provider.Provider {
		t.Helper()
		p, err := sqlite.Open(filepath.Join(t.TempDir(), "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	},
	"postgres": func(t *testing.T) provider.Provider {
		t.Helper()
		url := postgrestest.URL(t)
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	},
}

var errNotHere = errors.New("not in this place")

// A place is a store with the code that runs on it. At the source nothing comes to its end.
type place struct {
	*enginetest.Engine

	client *client.Client
	target bool
	runs   atomic.Int64 // of activities
	tokens chan string
}

func newPlace(t *testing.T, kind string, target bool) *place {
	t.Helper()
	p := &place{Engine: enginetest.On(t, stores[kind](t), runtime.Options{}), target: target, tokens: make(chan string, 10)}
	p.client = p.Engine.Client(client.Options{})
	return p
}

// registry has an orchestration of each kind of waiting.
func (p *place) registry() *runtime.Registry {
	t, reg := p.T, runtime.NewRegistry()
	enginetest.Activity(t, reg, "long", func(ctx context.Context, n int) (int, error) {
		p.runs.Add(1)
		if !p.target {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return n, nil
	})
	enginetest.Activity(t, reg, "flaky", func(_ context.Context, n int) (int, error) {
		p.runs.Add(1)
		if !p.target {
			return 0, errNotHere
		}
		return n, nil
	})
	enginetest.Activity(t, reg, "parked", func(ctx context.Context, n int) (int, error) {
		p.runs.Add(1)
		p.tokens <- activity.Token(ctx)
		return n, activity.ErrParked
	})
	if p.target {
		enginetest.Activity(t, reg, "elsewhere", func(_ context.Context, n int) (int, error) { return n, nil })
	}
	for _, name := range []string{"long", "flaky", "parked", "elsewhere"} {
		retry := orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaxInterval: 100 * time.Millisecond})
		enginetest.Orchestration(t, reg, "call-"+name, func(ctx *orchestration.Context, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, name, n, retry)
		})
	}
	enginetest.Orchestration(t, reg, "sleep", func(ctx *orchestration.Context, n int) (int, error) { return n, ctx.Sleep(1500 * time.Millisecond) })
	enginetest.Orchestration(t, reg, "receive", receive)
	enginetest.Orchestration(t, reg, "parent", func(ctx *orchestration.Context, n int) (int, error) {
		return orchestration.CallOrchestrationNamed[int](ctx, "receive", n)
	})
	enginetest.Orchestration(t, reg, "rounds", func(ctx *orchestration.Context, n int) (int, error) {
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return 0, err
		}
		if n < 3 {
			return 0, orchestration.ContinueAsNew(ctx, n+1)
		}
		return n, nil
	})
	enginetest.Orchestration(t, reg, "blocks", func(_ *orchestration.Context, n int) (int, error) {
		if !p.target {
			panic("not in this place")
		}
		return n, nil
	})
	enginetest.Orchestration(t, reg, "updated", func(ctx *orchestration.Context, n int) (int, error) {
		orchestration.HandleUpdate(ctx, "add", func(_ *orchestration.Context, more int) (int, error) {
			n += more
			return n, nil
		})
		_, err := orchestration.Events[int](ctx, "go").Receive(ctx)
		return n, err
	})
	return reg
}

// receive adds two events.
func receive(ctx *orchestration.Context, n int) (int, error) {
	box := orchestration.Events[int](ctx, "go")
	for range 2 {
		more, err := box.Receive(ctx)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

func (p *place) start(name, id string, n int) {
	p.T.Helper()
	_, err := client.StartNamed[int](p.T.Context(), p.client, name, n, client.WithID(id))
	if err != nil {
		p.T.Fatalf("starting %s: %v", id, err)
	}
}

func (p *place) describe(id string) client.Description {
	p.T.Helper()
	d, err := p.client.Describe(p.T.Context(), id)
	if err != nil {
		p.T.Fatalf("describing %s: %v", id, err)
	}
	return d
}

// waits waits until an instance is as wanted.
func (p *place) waits(id, what string, wanted func(client.Description) bool) {
	p.T.Helper()
	p.Until(fmt.Sprintf("%s %s", id, what), func() bool { return wanted(p.describe(id)) })
}

func (p *place) do(what string, err error) {
	p.T.Helper()
	if err != nil {
		p.T.Fatalf("%s: %v", what, err)
	}
}

func (p *place) handle(id string) client.Handle[int] {
	p.T.Helper()
	return client.HandleOf[int](p.client, id, p.describe(id).Key)
}

// outputs checks that instances end with their outputs.
func (p *place) outputs(want map[string]int) {
	p.T.Helper()
	for id, n := range want {
		got, err := p.handle(id).Wait(p.T.Context())
		if err != nil || got != n {
			p.T.Errorf("%s returned %d and error %v, want %d", id, got, err, n)
		}
	}
}
