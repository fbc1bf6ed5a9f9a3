package updates

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

// patience bounds what must not last.
const patience = 30 * time.Second

// stores opens a store of each kind.
var stores = map[string]func(t *testing.T) provider.Provider{
	"memory": func(*testing.T) provider.Provider { return memory.New(memory.Options{}) },
	"sqlite": func(t *testing.T) provider.Provider {
		t.Helper()
		p, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Synchronous: sqlite.Off})
		if err != nil {
			t.Fatal(err)
		}
		return p
	},
	"postgres": func(t *testing.T) provider.Provider {
		t.Helper()
		longtest.Skip(t)
		url := postgrestest.URL(t)
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	},
}

type (
	octx = orchestration.Context
	none = orchestration.None
)

// A place is a store with a node that serves the code in two versions.
type place struct {
	*enginetest.Engine

	c    *client.Client
	code func(*octx, int) (int, error) // of version 1

	mu    sync.Mutex
	ran   map[string]bool          // IDs of instances in which the update of the test has run here
	gates map[string]chan struct{} // that activities wait for, by instance
}

func newPlace(t *testing.T, store provider.Provider) *place {
	t.Helper()
	return newPlaceOn(enginetest.On(t, store, runtime.Options{}))
}

func newPlaceOn(e *enginetest.Engine) *place {
	t := e.T
	t.Helper()
	p := &place{Engine: e, ran: make(map[string]bool), gates: make(map[string]chan struct{})}
	reg := runtime.NewRegistry()
	p.code = orchestration.Define("taker", p.taker, orchestration.Version("1"))
	if err := runtime.AddOrchestration(reg, p.code); err != nil {
		t.Fatal(err)
	}
	if err := runtime.AddOrchestration(reg, orchestration.Define("taker", p.taker, orchestration.Version("2"))); err != nil {
		t.Fatal(err)
	}
	enginetest.Activity(t, reg, "gate", func(ctx context.Context, id string) (none, error) {
		select {
		case <-p.gate(id):
			return none{}, nil
		case <-ctx.Done():
			return none{}, ctx.Err()
		}
	})
	p.Start(reg)
	p.c = p.Client(client.Options{})
	return p
}

// gate returns what the activities of an instance wait for.
func (p *place) gate(id string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[id] == nil {
		p.gates[id] = make(chan struct{})
	}
	return p.gates[id]
}

func (p *place) note(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran[id] = true
}

func (p *place) hasRun(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran[id]
}

// taker handles updates until it gets the event "main".
func (p *place) taker(ctx *octx, round int) (int, error) {
	id := ctx.Info().ID
	orchestration.HandleUpdate(ctx, "quick", func(_ *octx, in string) (string, error) {
		if in == theUpdate {
			p.note(id)
		}
		return in, nil
	}, orchestration.Validate(func(in string) error {
		if in == refused {
			return orchestration.ErrInvalid
		}
		return nil
	}))
	orchestration.HandleUpdate(ctx, "waits", func(ctx *octx, in string) (string, error) {
		if in == theUpdate {
			p.note(id)
		}
		_, err := orchestration.Events[none](ctx, "go").Receive(ctx)
		return in, err
	}, orchestration.Serial(), orchestration.AbandonAtEnd())
	orchestration.HandleUpdate(ctx, "works", func(ctx *octx, in string) (string, error) {
		if in == theUpdate {
			p.note(id)
		}
		_, err := orchestration.CallActivityNamed[none](ctx, "gate", id)
		return in, err
	}, orchestration.AbandonAtEnd())
	orchestration.HandleUpdate(ctx, "holds", func(ctx *octx, in string) (string, error) {
		if in == theUpdate {
			p.note(id)
		}
		_, err := orchestration.CallActivityNamed[none](ctx, "gate", id)
		return in, err
	})
	orchestration.HandleUpdate(ctx, "panicked", func(_ *octx, in string) (string, error) { panic(in) })
	orchestration.HandleUpdate(ctx, "failed", func(_ *octx, in string) (string, error) { return "", orchestration.ErrInvalid })
	act, err := orchestration.Events[string](ctx, "main").Receive(ctx)
	if act == "break" {
		panic("broken on purpose")
	}
	if err == nil && act == "continue" {
		err = orchestration.ContinueAsNew(ctx, round+1)
	}
	return round, err
}

// stage waits until an instance shows that an update has come to a stage.
func (p *place) stage(key provider.UUID, id string, stage int64) {
	p.T.Helper()
	p.Until("stage of update "+id, func() bool {
		res, err := p.Store.Get(p.T.Context(), provider.GetRequest{Key: key, Value: history.UpdateKey(id)})
		if err != nil {
			p.T.Fatal(err)
		}
		if res.Value == nil {
			return false
		}
		s, err := history.DecodeUpdateState(res.Value.Value)
		return err == nil && s.Outcome == stage
	})
}
