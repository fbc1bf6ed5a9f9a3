package orchestration_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// The plain form carries the Serial updates that wait for their turn. The next execution validates each again, and that is the outcome, also
// for a caller who has heard that it was accepted. The one that runs already is told that its changes are lost.
func TestHazard115_ThePlainFormCarriesTheQueue(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		full := errors.New("the ledger is closed to threes")
		rt, h, gate := startLedger(e, func(ctx *octx, t tally) ([]int, error) {
			validate := orchestration.Validate(func(k int) error {
				if k == 3 && t.Round > 0 {
					return full
				}
				return nil
			})
			return ledger(plain, orchestration.Serial(), validate)(ctx, t)
		})
		first, second, third := askAdd(e, h, 1), askAdd(e, h, 2), askAdd(e, h, 3)
		e.Raise(h.Key(), "roll", none{})
		handled(e, h.Key(), history.KindMainReturned, 1)
		if got := stored(e, h.Key(), "u-2").Outcome; got != history.UpdatePending {
			e.T.Errorf("a carried update has the stage %d", got)
		}
		fourth := sendAdd(e, h, 4) // behind the function's return
		close(gate)
		if n, err := outcomeOf(e, first); n != 1 || !errors.Is(err, client.ErrNotCarried) {
			e.T.Errorf("the update that runs: %d, %v", n, err)
		}
		if n, err := outcomeOf(e, second); n != 1 || err != nil {
			e.T.Errorf("the one that waited: %d, %v", n, err)
		}
		if _, err := outcomeOf(e, third); !errors.Is(err, client.ErrRejected) || !strings.Contains(err.Error(), full.Error()) {
			e.T.Errorf("the one that is not valid any more: %v", err)
		}
		if n, err := outcomeOf(e, fourth); n != 2 || err != nil {
			e.T.Errorf("the last one: %d, %v", n, err)
		}
		if again, err := client.Update[int](e.T.Context(), h, "add", 2, client.WithUpdateID("u-2")); again != 1 || err != nil {
			e.T.Errorf("the repeat of a carried update: %d, %v", again, err)
		}
		e.Until("one handler is counted as late", func() bool { return rt.Stats().HandlersLate == 1 })
		stopLedger(e, h, 2, 4)
		if level := e.Get(h.Key()).EngineLevel; level != replay.LevelOfLanguage {
			e.T.Errorf("level %d", level)
		}
	})
}

// An execution that an older release has begun keeps the old behaviour: what waits has its turn before the end. The next one has the new.
func TestHazard115_OldExecutionsKeepTheirClosing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		_, other, gate := startLedger(e, ledger(plain, orchestration.Serial()))
		stopLedger(e, other)
		key := e.CreateWith("old", "ledger", tally{}, replay.SettingsAt(replay.LevelOfExact))
		h := client.HandleOf[[]int](e.Client(client.Options{}), "old", key)
		first, second := askAdd(e, h, 1), askAdd(e, h, 2)
		e.Raise(key, "roll", none{})
		handled(e, key, history.KindMainReturned, 1)
		close(gate)
		for i, u := range []client.UpdateHandle[int]{first, second} {
			if n, err := outcomeOf(e, u); n != i+1 || !errors.Is(err, client.ErrNotCarried) {
				e.T.Errorf("update %d: %d, %v", i+1, n, err)
			}
		}
		e.Until("it continues", func() bool { return e.Get(key).Execution == 2 })
		settings := func(execution int64) history.Settings {
			return e.History(key, execution)[0].Body.(*history.ExecutionStarted).Settings
		}
		if settings(1) != replay.SettingsAt(replay.LevelOfExact) || settings(2) != replay.SettingsAt(replay.LevelOfLanguage) {
			e.T.Errorf("settings %+v, then %+v", settings(1), settings(2))
		}
		if got := e.Get(key); got.EngineLevel != replay.LevelOfLanguage || got.Status != provider.StatusRunning {
			e.T.Errorf("level %d, %v", got.EngineLevel, got.Status)
		}
		stopLedger(e, h)
	})
}
