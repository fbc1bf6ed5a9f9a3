package upgrade_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Finish refuses while an older node may be at work, and names it. It never lowers the level.
func TestHazard80_FinishRefusesOlderNodes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		create(t, store, "a", 4)
		begin(t, store)
		create(t, store, "b", 4)
		older, newer := join(t, store, "older-1", 7), join(t, store, "newer-1", 9)
		finish := func(level int64, force bool) (int64, bool, error) {
			return upgrade.Finish(t.Context(), full(store), level, force)
		}
		if _, _, err := finish(9, false); !errors.Is(err, upgrade.ErrOlder) || !strings.Contains(err.Error(), `"older-1"`) || strings.Contains(err.Error(), "newer-1") {
			t.Errorf("got %v, want ErrOlder that names older-1 alone", err)
		}
		older()
		leased := provider.FetchTurnsRequest{
			Owner: "unlisted", Token: provider.UUID(uuid.New()), Lease: time.Minute, EngineLevel: 4, Max: 1, Capabilities: []provider.Capability{{Name: "main"}},
		}
		if res, err := store.FetchTurns(t.Context(), leased); err != nil || len(res.Turns) != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if _, _, err := finish(9, false); !errors.Is(err, upgrade.ErrOlder) || !strings.Contains(err.Error(), `"unlisted"`) {
			t.Errorf("got %v, want ErrOlder that names the owner of a lease", err)
		}
		if got := open(t, store, 9).Allowed(); got != upgrade.Unrecorded {
			t.Errorf("a refusal left level %d", got)
		}
		pass(time.Minute + time.Second) // its lease is over
		for _, c := range []struct{ level, before int64 }{{9, upgrade.Unrecorded}, {9, 9}, {7, 9}} {
			if before, changed, err := finish(c.level, false); err != nil || before != c.before || changed != (before < c.level) {
				t.Errorf("finish at level %d: %d, %v, %v, want %d", c.level, before, changed, err, c.before)
			}
		}
		if got := open(t, store, 12).Allowed(); got != 9 {
			t.Errorf("the store allows level %d, want 9", got)
		}
		if _, _, err := finish(12, true); err != nil { // although newer-1 runs level 9 only
			t.Error(err)
		}
		if got := open(t, store, 12).Allowed(); got != 12 {
			t.Errorf("the store allows level %d, want 12", got)
		}
		newer()
	})
}

// The state of an upgrade counts what each node cannot run.
func TestLookCountsByLevel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		for id, level := range map[string]int64{"a": 4, "b": 4, "c": 7, "d": 9} {
			create(t, store, id, level)
		}
		begin(t, store)
		stop := join(t, store, "node", 7)
		s, err := upgrade.ReadStatus(t.Context(), full(store))
		if err != nil || s.Recorded || s.Allowed != upgrade.Unrecorded || len(s.Nodes) != 1 || len(s.Unknown) != 0 || s.Unchecked != "" || s.Cut {
			t.Errorf("%+v, %v", s, err)
		}
		for level, want := range map[int64]int64{3: 4, 4: 2, 7: 1, 9: 0} {
			if got := s.Above(level); got != want {
				t.Errorf("%d instances above level %d, want %d", got, level, want)
			}
		}
		stop()
	})
}
