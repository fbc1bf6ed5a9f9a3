package client_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A start by name takes the newest version that a listed node has. The list is read every ten seconds at most, never inside a
// transaction of the caller, and never by a start that has its version. While it cannot be read again, what is known holds.
func TestStartByNameKnowsTheNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &recorded{Full: provider.FullOf(memory.New(memory.Options{}))}
		defer func() { _ = store.Close() }()
		c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		client.OfLevel(c, 1) // settled: it reads no record of the level
		serve := func(owner string, versions ...string) {
			t.Helper()
			var runs []provider.Capability
			for _, v := range versions {
				runs = append(runs, provider.Capability{Name: "Checkout", CodeVersion: v})
			}
			if _, err := upgrade.Join(t.Context(), upgrade.New(store.Full, 1), owner, runs, slog.New(slog.DiscardHandler), nil); err != nil {
				t.Fatal(err)
			}
		}
		starts := func(what, want string, calls int64, opts ...client.StartOption) {
			t.Helper()
			before := store.calls.Load()
			for range 3 {
				h, err := client.StartNamed[receipt](t.Context(), c, "Checkout", order{}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if h.Key().IsZero() {
					continue
				}
				res, err := store.Get(t.Context(), provider.GetRequest{Key: h.Key()})
				if err == nil && res.Instance.CodeVersion != want {
					t.Errorf("%s: version %q, want %q", what, res.Instance.CodeVersion, want)
				}
			}
			if got := store.calls.Load() - before; got != calls {
				t.Errorf("%s: %d reads, want %d", what, got, calls)
			}
		}
		serve("a", "9", "")
		starts("by version", "7", 0, client.WithVersion("7"))
		starts("in a transaction", "", 0, provider.Tx{})
		starts("first", "9", 1)
		serve("b", "10")
		starts("within ten seconds", "9", 0)
		time.Sleep(10 * time.Second) //nolint:forbidigo // in a bubble
		starts("after ten seconds", "10", 1)
		store.fail.Store(true)
		time.Sleep(10 * time.Second) //nolint:forbidigo // in a bubble
		before := time.Now()
		h, err := client.StartNamed[receipt](t.Context(), c, "Checkout", order{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := store.Get(t.Context(), provider.GetRequest{Key: h.Key()}); err != nil || res.Instance.CodeVersion != "10" || time.Since(before) > 3*time.Second {
			t.Errorf("a list that cannot be read: %q after %v, %v", res.Instance.CodeVersion, time.Since(before), err)
		}
	})
}

// hung does not answer reads of records.
type hung struct{ *provider.Full }

func (h hung) Unwrap() provider.Provider { return h.Full }

func (h hung) Record(ctx context.Context, _ provider.RecordRequest) (provider.RecordResult, error) {
	<-ctx.Done()
	return provider.RecordResult{}, ctx.Err()
}

// A call that must know the nodes or the level of the store, while another one reads them, ends with its own context. It does not say that
// the upgrade is unfinished, which it does not know.
func TestNoCallOutlivesItsDeadlineBehindAnotherOne(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, c *client.Client) error{
		"start": func(ctx context.Context, c *client.Client) error {
			_, err := client.StartNamed[receipt](ctx, c, "Checkout", order{})
			return err
		},
		"update": func(ctx context.Context, c *client.Client) error {
			_, err := client.SendUpdate[receipt](ctx, client.HandleOf[receipt](c, "a", provider.NewKey("a")), "add", 1)
			return err
		},
		"schedule": func(ctx context.Context, c *client.Client) error {
			_, err := client.CreateScheduleNamed(ctx, c, "nightly", client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}, "Checkout", order{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := hung{provider.FullOf(memory.New(memory.Options{}))}
				defer func() { _ = store.Close() }()
				c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
				first := make(chan error)
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					first <- call(ctx, c)
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				began := time.Now()
				err := call(ctx, c)
				if took := time.Since(began); took > time.Second || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrNotFinished) {
					t.Errorf("the second one returned after %v: %v", took, err)
				}
				if err := <-first; err == nil || errors.Is(err, client.ErrNotFinished) {
					t.Errorf("the first one: %v", err)
				}
			})
		})
	}
}
