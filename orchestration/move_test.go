package orchestration_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// parcel is code that doubles, waits for an event and says which version ran to the end. A version that sleeps first differs.
func parcel(version string, sleeps bool) func(*octx, int) ([]string, error) {
	return orchestration.Define("parcel", func(ctx *octx, n int) ([]string, error) {
		if sleeps {
			if err := ctx.Sleep(1); err != nil {
				return nil, err
			}
		}
		if _, err := orchestration.CallActivity(ctx, Double, n); err != nil {
			return nil, err
		}
		stop, err := orchestration.Events[bool](ctx, "go").Receive(ctx)
		if err != nil || stop {
			return []string{version, ctx.Info().CodeVersion}, err
		}
		return nil, orchestration.ContinueAsNew(ctx, n, orchestration.KeepVersion())
	}, orchestration.Version(version))
}

// sent starts an instance of a version, and waits until it waits for its event.
func sent(e *enginetest.Engine, version string) client.Handle[[]string] {
	e.T.Helper()
	h, err := client.Start(e.T.Context(), e.Client(client.Options{}), parcel(version, false), 1)
	if err != nil {
		e.T.Fatal(err)
	}
	e.Until("it waits for its event", func() bool { return e.Get(h.Key()).HistoryLength >= 3 })
	return h
}

// ends lets an instance end, and checks which version ran and which one it says.
func ends(e *enginetest.Engine, h client.Handle[[]string], ran, info string) {
	e.T.Helper()
	e.Raise(h.Key(), "go", true)
	if got := enginetest.Output[[]string](e, h.Key()); !slices.Equal(got, []string{ran, info}) {
		e.T.Errorf("got %q, want %q as %q", got, ran, info)
	}
}

// A moved instance goes on in the other version, forward or back, with its place, its Info and its history. The next execution runs the
// version that it was moved to.
func TestHazard61_MovedInstancesGoOn(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		serve(e, parcel("1", false), parcel("2", false))
		for _, way := range [][2]string{{"1", "2"}, {"2", "1"}} {
			h := sent(e, way[0])
			before := e.Get(h.Key())
			for range 2 { // the second finds it done
				if err := h.Move(e.T.Context(), way[1]); err != nil {
					e.T.Fatal(err)
				}
			}
			if after := e.Get(h.Key()); after.CodeVersion != way[1] || after.EngineLevel != replay.LevelOfLanguage || after.HistoryLength != before.HistoryLength {
				e.T.Errorf("after the move: %+v", after)
			}
			ends(e, h, way[1], way[0])
		}
		h := sent(e, "1")
		if err := e.Client(client.Options{}).Move(e.T.Context(), h.ID(), "2"); err != nil {
			e.T.Fatal(err)
		}
		turnOver(e, h.Key())
		e.Until("it waits again", func() bool { return e.Get(h.Key()).HistoryLength >= 3 })
		ends(e, h, "2", "2")
	})
}

// A node of the target replays the history before anything is stored. Code that differs is refused with the first difference.
func TestHazard61_MoveIsReplayedFirst(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		serve(e, parcel("1", false), parcel("2", true))
		h := sent(e, "1")
		before := e.Get(h.Key())
		err := h.Move(e.T.Context(), "2")
		if !errors.Is(err, client.ErrNotReplayed) || !strings.Contains(err.Error(), `event 2`) || !strings.Contains(err.Error(), "TimerCreated") {
			e.T.Fatalf("got %v", err)
		}
		if after := e.Get(h.Key()); after.Version != before.Version {
			e.T.Fatalf("the refused move changed it: %+v", after)
		}
		if err := h.Move(e.T.Context(), "3"); !errors.Is(err, client.ErrUnserved) || !strings.Contains(err.Error(), "no node has registered") {
			e.T.Errorf("a version of no node: %v", err)
		}
		ends(e, h, "1", "1")
		if err := h.Move(e.T.Context(), "2"); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("after its end: %v", err)
		}
	})
}

// The node of the target judges, not the one that has the instance, and goes on with it at once.
func TestHazard61_TheTargetsNodeTakesOver(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		serve(e, parcel("1", false))
		h := sent(e, "1")
		serve(e, parcel("2", false))
		ctx, cancel := context.WithTimeout(e.T.Context(), 10*time.Second)
		defer cancel()
		if err := h.Move(ctx, "2"); err != nil {
			e.T.Fatal(err)
		}
		ends(e, h, "2", "1")
	})
}

// changing is a store in which an instance changes before each move, unless it is suspended.
type changing struct {
	provider.Provider

	moves int
}

func (s *changing) Unwrap() provider.Provider { return s.Provider }

func (s *changing) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	if req.Action == provider.SteerMove {
		s.moves++
		res, err := s.Get(ctx, provider.GetRequest{Key: req.Key})
		if err != nil {
			return provider.SteerResult{}, err
		}
		if res.Instance.Status == provider.StatusRunning {
			change := provider.SteerRequest{Key: req.Key, Action: provider.SteerUnblock, Commit: enginetest.NewID()}
			if _, err := s.Provider.Steer(ctx, change); err != nil {
				return provider.SteerResult{}, err
			}
		}
	}
	return s.Provider.Steer(ctx, req)
}

// An instance that changes between each check and write is reported as busy after five tries, or suspended, moved and resumed.
func TestHazard61_BusyInstancesAreSuspendedIfAsked(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		serve(e, parcel("1", false), parcel("2", false), parcel("3", true))
		h := sent(e, "1")
		store := &changing{Provider: e.Store.Provider}
		c := clienttest.New(e.T, store, client.Options{})
		if err := c.Move(e.T.Context(), h.ID(), "2"); !errors.Is(err, client.ErrBusy) || store.moves != 5 {
			e.T.Errorf("%d tries: %v", store.moves, err)
		}
		if i := e.Get(h.Key()); i.CodeVersion != "1" || i.Status != provider.StatusRunning {
			e.T.Errorf("after a busy move: %+v", i)
		}
		if err := c.Move(e.T.Context(), h.ID(), "2", client.SuspendToMove()); err != nil || store.moves != 11 {
			e.T.Errorf("suspended: %d tries, %v", store.moves, err)
		}
		if i := e.Get(h.Key()); i.CodeVersion != "2" || i.Status != provider.StatusRunning {
			e.T.Errorf("after the move: %+v", i)
		}
		ends(e, h, "2", "1")
	})
}

// An instance that has not begun, is blocked or is suspended can be moved, and stays so.
func TestMoveInEveryState(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		waits := e.Create("waits", "parcel", 1)
		panics := orchestration.Define("panics", func(*octx, none) (none, error) { panic("on purpose") })
		mended := orchestration.Define("panics", func(*octx, none) (none, error) { return none{}, nil }, orchestration.Version("2"))
		reg := registry(e.T)
		if err := errors.Join(
			runtime.AddOrchestration(reg, parcel("1", false)), runtime.AddOrchestration(reg, parcel("2", false)),
			runtime.AddOrchestration(reg, panics), runtime.AddOrchestration(reg, mended),
		); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		c := e.Client(client.Options{})
		if err := c.Move(e.T.Context(), "waits", "2"); err != nil {
			e.T.Fatal(err)
		}
		ends(e, client.HandleOf[[]string](c, "waits", waits), "2", "")

		stuck := e.Create("stuck", "panics", none{})
		e.WaitBlocked(stuck, 1)
		if err := c.Move(e.T.Context(), "stuck", "2"); err != nil {
			e.T.Fatal(err)
		}
		if i := e.Get(stuck); i.Blocked == nil {
			e.T.Errorf("the move unblocked it: %+v", i)
		}
		e.Steer(stuck, provider.SteerUnblock)
		enginetest.Output[none](e, stuck)

		h := sent(e, "1")
		e.Steer(h.Key(), provider.SteerSuspend)
		if err := h.Move(e.T.Context(), "2", client.SuspendToMove()); err != nil {
			e.T.Fatal(err)
		}
		if i := e.Get(h.Key()); i.Status != provider.StatusSuspended {
			e.T.Errorf("the move resumed it: %+v", i)
		}
		e.Steer(h.Key(), provider.SteerResume)
		ends(e, h, "2", "1")
	})
}
