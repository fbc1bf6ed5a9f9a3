package runtime_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// While nodes of the release before may use the store, headers are left out, and everything that a new client and a new
// node write is read by the old node. After the upgrade a message with a header leaves an instance of before to new nodes at
// once: no turn is delayed.
func TestHazard62_HeadersStallNoInstance(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		f := newFleet(e)
		old := f.node(f.Store, replay.LevelOfTogether)
		newer := f.node(f.Store, replay.EngineLevel)
		c, err := client.New(f.Store, client.Options{Node: newer.Node(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			f.T.Fatal(err)
		}
		raise := func(keys ...provider.UUID) {
			for _, key := range keys {
				for range 3 {
					if err := client.HandleOf[int](c, "", key).Raise(f.T.Context(), "go", 1, client.WithHeader("id", "e")); err != nil {
						f.T.Fatal(err)
					}
				}
			}
		}
		headers := func(key provider.UUID) (n int) {
			for shown, err := range client.HandleOf[int](c, "", key).History(f.T.Context(), 1) {
				if err != nil {
					f.T.Fatal(err)
				}
				n += len(shown.Header)
			}
			return n
		}
		before := f.start(4, newer.Node(), client.WithHeader("id", "s"))
		running, asked := before[2], before[3]
		raise(before[:2]...)
		f.ended(before[:2]...)
		for _, key := range before {
			if i := f.Get(key); i.EngineLevel > replay.LevelOfTogether || headers(key) != 0 {
				f.T.Errorf("before the upgrade an instance has level %d and %d headers", i.EngineLevel, headers(key))
			}
		}

		if _, _, err := upgrade.Finish(f.T.Context(), f.Store, replay.EngineLevel, true); err != nil {
			f.T.Fatal(err)
		}
		time.Sleep(61 * time.Second) //nolint:forbidigo // in a bubble; the level is read once a minute
		began := time.Now()
		after := f.start(2, newer.Node(), client.WithHeader("id", "s"))
		raise(append(after, running)...)
		if err := client.HandleOf[int](c, "", asked).Cancel(f.T.Context(), "enough", client.WithHeader("id", "c")); err != nil {
			f.T.Fatal(err)
		}
		f.ended(append(after, running)...)
		f.WaitEnded(asked)
		if took := time.Since(began); took > 200*time.Millisecond {
			f.T.Errorf("it took %v: turns were delayed", took)
		}
		for key, want := range map[provider.UUID]int{after[0]: 2, running: 1, asked: 1} {
			if i := f.Get(key); i.EngineLevel < replay.LevelOfHandlers || headers(key) < want {
				f.T.Errorf("after the upgrade an instance has level %d and %d headers, want %d", i.EngineLevel, headers(key), want)
			}
		}
		if s := old.Stats(); s.TurnsFailed > 0 || s.AttemptsPoisoned > 0 {
			f.T.Errorf("on the old node %d turns failed, %d attempts were poisoned", s.TurnsFailed, s.AttemptsPoisoned)
		}
	})
}

// Starts name their root and when the first execution began once no older node may read them. Until then they keep their
// bytes.
func TestRootsAreOfTheUpgradedStore(t *testing.T) {
	t.Parallel()
	for name, level := range map[string]int64{"before": replay.LevelOfTogether, "after": replay.EngineLevel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				f := newFleet(e)
				rt := f.node(f.Store, level)
				key := f.start(1, rt.Node())[0]
				f.release(key)
				f.ended(key)
				first := f.History(key, 1)[0]
				next := f.History(key, 2)[0].Body.(*history.ExecutionStarted)
				want := int64(0)
				if name == "after" {
					want = first.At
				}
				if next.Began != want {
					f.T.Errorf("the second execution says that the first began at %d, want %d", next.Began, want)
				}
			})
		})
	}
}
