package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A lister has the core and one optional interface.
type lister struct {
	provider.Provider
	provider.Lister
}

// A decorator has every optional call and decorates p.
type decorator struct{ *provider.Full }

func (d decorator) Unwrap() provider.Provider { return d.Provider }

func (d decorator) Own() string { return "own" }

func TestDecoratorHasWhatIsDecorated(t *testing.T) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	for name, p := range map[string]provider.Provider{
		"decorated":  decorator{provider.FullOf(lister{store, store})},
		"twice":      decorator{provider.FullOf(decorator{provider.FullOf(lister{store, store})})},
		"full":       provider.FullOf(lister{store, store}),
		"undressed":  lister{store, store},
		"full twice": provider.FullOf(provider.FullOf(lister{store, store})),
	} {
		if _, ok := provider.As[provider.Lister](p); !ok {
			t.Errorf("%s: no Lister, want that of the store", name)
		}
		if _, ok := provider.As[provider.Keeper](p); ok {
			t.Errorf("%s: a Keeper, want none: the store has none", name)
		}
		if _, ok := provider.As[provider.Inspector](p); ok {
			t.Errorf("%s: an Inspector, want none: the store hides it", name)
		}
	}
	if own, ok := provider.As[interface{ Own() string }](decorator{provider.FullOf(store)}); !ok || own.Own() != "own" {
		t.Error("an interface of the decorator's own was not found")
	}
}

// A call that the store lacks says so, and nothing has happened.
func TestFullNamesWhatIsLacking(t *testing.T) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	full := provider.FullOf(struct{ provider.Provider }{store})
	ctx := t.Context()
	ask := func(f func(context.Context) error) error { return f(ctx) }
	for want, err := range map[string]error{
		"ask: ": ask(func(ctx context.Context) error { _, err := full.Ask(ctx, provider.AskRequest{}); return err }),
		"fetch asks: ": ask(func(ctx context.Context) error {
			_, err := full.FetchAsks(ctx, provider.FetchAsksRequest{})
			return err
		}),
		"answer: ": full.Answer(ctx, provider.AnswerRequest{}),
		"list: ":   ask(func(ctx context.Context) error { _, err := full.List(ctx, provider.ListRequest{}); return err }),
		"count: ":  ask(func(ctx context.Context) error { _, err := full.Count(ctx, provider.CountRequest{}); return err }),
		"stats: ":  ask(func(ctx context.Context) error { _, err := full.Stats(ctx, provider.StatsRequest{}); return err }),
		"delete: ": ask(func(ctx context.Context) error { _, err := full.Delete(ctx, provider.DeleteRequest{}); return err }),
		"prune: ":  ask(func(ctx context.Context) error { _, err := full.Prune(ctx, provider.PruneRequest{}); return err }),
		"dead letters: ": ask(func(ctx context.Context) error {
			_, err := full.DeadLetters(ctx, provider.DeadLettersRequest{})
			return err
		}),
		"lease: ":  ask(func(ctx context.Context) error { _, err := full.Lease(ctx, provider.LeaseRequest{}); return err }),
		"reset: ":  ask(func(ctx context.Context) error { _, err := full.Reset(ctx, provider.ResetRequest{}); return err }),
		"fork: ":   ask(func(ctx context.Context) error { _, err := full.Fork(ctx, provider.ForkRequest{}); return err }),
		"record: ": ask(func(ctx context.Context) error { _, err := full.Record(ctx, provider.RecordRequest{}); return err }),
	} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "provider.") {
			t.Errorf("got %v, want an ErrUnsupported that begins with %q and names the interface", err, want)
		}
		if provider.OutcomeOf(err) != provider.OutcomeNothing || provider.Retryable(err) {
			t.Errorf("%v: %v, retryable %v, want nothing and false", err, provider.OutcomeOf(err), provider.Retryable(err))
		}
	}
	if res, err := provider.FullOf(store).Count(ctx, provider.CountRequest{}); err != nil || res.Count != 0 {
		t.Errorf("counted %+v, %v", res, err)
	}
}
