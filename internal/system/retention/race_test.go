package retention_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// racing is a store in which something happens directly after a read of the rules, or before it.
type racing struct {
	*provider.Full

	before, after *atomic.Pointer[func()]
}

func (r racing) Unwrap() provider.Provider { return r.Full }

func (r racing) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	rules := req.Action == provider.RecordGet && req.Key == form.Record
	if act := r.before; rules && act.Load() != nil {
		(*act.Swap(nil))()
	}
	res, err := r.Full.Record(ctx, req)
	if act := r.after; rules && act.Load() != nil {
		(*act.Swap(nil))()
	}
	return res, err
}

// raced runs a node on a store in which things happen in the middle of a round.
func raced(t *testing.T, test func(e *enginetest.Engine, c *client.Client, store racing)) {
	t.Helper()
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := racing{provider.FullOf(e.Store), &atomic.Pointer[func()]{}, &atomic.Pointer[func()]{}}
		reg := runtime.NewRegistry()
		if err := runtime.AddOrchestration(reg, Quick); err != nil {
			e.T.Fatal(err)
		}
		rt := e.StartOn(store, reg, e.Options)
		test(e, e.Client(client.Options{}), store)
		e.Stop(rt)
	})
}

// rounds waits for a number of rounds to be over, and returns how long that took.
func rounds(e *enginetest.Engine, c *client.Client, n int64) time.Duration {
	e.T.Helper()
	began := time.Now()
	e.Until("the round is over", func() bool {
		i, err := operate.New(c).Retention(e.T.Context())
		return err == nil && i.Rounds >= n && !i.EndedAt.IsZero()
	})
	return time.Since(began)
}

// Rules that are set while a round finds none get a round of their own at once.
func TestRulesSetWhileARoundFindsNone(t *testing.T) {
	raced(t, func(e *enginetest.Engine, c *client.Client, store racing) {
		on := operate.Retention{Rules: []operate.RetentionRule{{Age: 24 * time.Hour}}}
		set := func(r operate.Retention) {
			if err := operate.New(c).SetRetention(e.T.Context(), r); err != nil {
				e.T.Error(err)
			}
		}
		set(on)
		rounds(e, c, 1)
		store.after.Store(new(func() { set(on) }))
		set(operate.Retention{}) // a round finds that out
		if took := rounds(e, c, 3); took > 10*time.Minute {
			e.T.Errorf("the round for the new rules was over after %v", took)
		}
	})
}

// A round shows while it goes on.
func TestARoundShowsFromItsBeginning(t *testing.T) {
	raced(t, func(e *enginetest.Engine, c *client.Client, store racing) {
		for n := range int64(2) {
			seen := make(chan operate.RetentionInfo, 1)
			store.before.Store(new(func() { // the first step of the round reads the rules
				info, err := operate.New(c).Retention(e.T.Context())
				if err != nil {
					e.T.Error(err)
				}
				seen <- info
			}))
			if err := operate.New(c).SetRetention(e.T.Context(), operate.Retention{Rules: []operate.RetentionRule{{Age: 24 * time.Hour}}}); err != nil {
				e.T.Fatal(err)
			}
			if info := <-seen; info.Rounds != n+1 || info.BeganAt.IsZero() || !info.EndedAt.IsZero() {
				e.T.Errorf("in round %d: %+v", n+1, info)
			}
			rounds(e, c, n+1)
		}
	})
}
