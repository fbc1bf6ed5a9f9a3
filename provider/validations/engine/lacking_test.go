package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

type (
	core     = provider.Provider
	opener   = provider.Opener
	asker    = provider.Asker
	lister   = provider.Lister
	meter    = provider.Meter
	cleaner  = provider.Cleaner
	redriver = provider.Redriver
	keeper   = provider.Keeper
	notifier = provider.Notifier
	featured = provider.Featured
)

// poorer returns stores that lack one optional interface or feature each, and one that lacks all.
func poorer(p *memory.Provider, used *atomic.Pointer[string]) map[string]provider.Provider {
	all := p.Features()
	without := func(change func(*provider.Features)) provider.Features {
		f := all
		change(&f)
		return f
	}
	return map[string]provider.Provider{
		"Opener": struct {
			core
			asker
			lister
			meter
			cleaner
			redriver
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Asker": struct {
			core
			opener
			lister
			meter
			cleaner
			redriver
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Lister": struct {
			core
			opener
			asker
			meter
			cleaner
			redriver
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Meter": struct {
			core
			opener
			asker
			lister
			cleaner
			redriver
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Cleaner": struct {
			core
			opener
			asker
			lister
			meter
			redriver
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Redriver": struct {
			core
			opener
			asker
			lister
			meter
			cleaner
			keeper
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Keeper": struct {
			core
			opener
			asker
			lister
			meter
			cleaner
			redriver
			notifier
			featured
		}{p, p, p, p, p, p, p, p, p},
		"Notifier": struct {
			core
			opener
			asker
			lister
			meter
			cleaner
			redriver
			keeper
			featured
		}{p, p, p, p, p, p, p, p, p},
		"FirstTurns": &limited{Provider: p, has: without(func(f *provider.Features) { f.FirstTurns = false }), used: used},
		"Ahead":      &limited{Provider: p, has: without(func(f *provider.Features) { f.Ahead = false }), used: used},
		"Sticky":     &limited{Provider: p, has: without(func(f *provider.Features) { f.Sticky = false }), used: used},
		"all":        struct{ core }{&limited{Provider: p, used: used}},
	}
}

// limited is memory that refuses the features it does not declare.
type limited struct {
	*memory.Provider

	has  provider.Features
	used *atomic.Pointer[string] // a feature that it does not declare
}

func (l *limited) Features() provider.Features { return l.has }

func (l *limited) undeclared(name string) error {
	l.used.Store(&name)
	return fmt.Errorf("the engine uses %s, which the store does not declare: %w", name, provider.ErrInvalid)
}

func (l *limited) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First != nil && !l.has.FirstTurns {
		return provider.CreateResult{}, l.undeclared("FirstTurns")
	}
	return l.Provider.Create(ctx, req)
}

func (l *limited) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if req.Ahead != 0 && !l.has.Ahead {
		return provider.FetchTurnsResult{}, l.undeclared("Ahead")
	}
	return l.Provider.FetchTurns(ctx, req)
}

func (l *limited) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	switch {
	case req.Ahead && !l.has.Ahead:
		return provider.CommitTurnResult{}, l.undeclared("Ahead")
	case req.Sticky != 0 && !l.has.Sticky:
		return provider.CommitTurnResult{}, l.undeclared("Sticky")
	}
	return l.Provider.CommitTurn(ctx, req)
}

// A node does without whatever its store lacks. A scenario is skipped only if it needs the interface itself.
func TestScenariosPassOnPoorerStores(t *testing.T) {
	t.Parallel()
	spare := memory.New(memory.Options{})
	names := poorer(spare, nil)
	if err := spare.Close(); err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if testing.Short() && name != "all" {
			continue
		}
		for _, s := range scenarios() {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				failures, lacks := onPoorer(t, s, name)
				for _, f := range failures {
					t.Error(f)
				}
				if lacks != nil && name != "all" && !strings.HasSuffix(lacks.Error(), name) {
					t.Errorf("the scenario was skipped for %v, want only for %s", lacks, name)
				}
			})
		}
	}
}

func onPoorer(t *testing.T, s scenario, name string) (failures []string, lacks error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		var used atomic.Pointer[string]
		p := poorer(store, &used)[name]
		failures, lacks = execute(t.Context(), s, modes()[0], p, p, 30*time.Second)
		if name := used.Load(); name != nil {
			failures = append(failures, "the engine uses "+*name+", which the store does not declare")
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return failures, lacks
}
