package programs

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/recorded"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

var playFrom = flag.String("programs.play", "testdata/recorded.gz", "the file that TestRecordedTurns plays")

// A turn that an older commit has recorded makes the same request now. So a change that only moves code of the engine changes no request. One
// that changes requests changes behaviour, which this test shows.
func TestRecordedTurns(t *testing.T) {
	t.Parallel()
	streams, err := recorded.Read(*playFrom)
	if err != nil {
		t.Fatal(err)
	}
	turns, changed := 0, map[string]int{}
	every := longtest.Pick(2, 1)
	for i, s := range streams {
		if i%every > 0 {
			continue
		}
		turns += len(s.Turns)
		for _, d := range play(t, s) {
			if d.What != "" {
				changed["unknown"]++
				t.Errorf("stream %d of %s: turn %d: %s", i, sourceOf(s), d.Turn, d.What)
			} else {
				changed[d.Commit]++
			}
		}
	}
	t.Logf("%d turns; requests that differ, by the commit that changed them: %v", turns, changed)
	want := map[string]int{changes()[0].Commit: 6, changes()[1].Commit: 19}
	if own := *playFrom == "testdata/recorded.gz"; own && every == 1 && (turns != 441 || !maps.Equal(changed, want)) {
		t.Errorf("%d turns with the changes %v, want 441 with %v", turns, changed, want)
	}
}

// changes are the changes of what turns store since testdata was recorded.
func changes() []recorded.Change {
	return []recorded.Change{
		{Commit: "32e4e050: an update tells when the next execution lacks what its handler changed", Undo: func(made *provider.CommitTurnRequest) {
			for i, data := range made.Events {
				e, err := history.Decode(0, data)
				if b, ok := e.Body.(*history.UpdateCompleted); err == nil && ok && b.Outcome == history.UpdateNotCarried {
					b.Outcome = history.UpdateDone
					made.Events[i] = history.Encode(nil, e)
				}
			}
			for i, v := range made.Values {
				s, err := history.DecodeUpdateState(v.Value)
				if err == nil && v.Key == history.UpdateKey(s.ID) && s.Outcome == history.UpdateNotCarried {
					s.Outcome = history.UpdateDone
					made.Values[i].Value = history.EncodeUpdateState(s)
				}
			}
		}},
		{Commit: "88feea32: a failing close tells of its error", Undo: func(made *provider.CommitTurnRequest) {
			made.Excerpt, made.FailureGroup = nil, ""
		}},
	}
}

// sourceOf names the node of a stream.
func sourceOf(s *recorded.Stream) string {
	var of code
	if err := json.Unmarshal(s.Source, &of); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("seed %d, %s", of.Seed, of.Mode)
}

// play plays a stream to a node with its code.
func play(t *testing.T, s *recorded.Stream) (different []recorded.Difference) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		var of code
		if err := json.Unmarshal(s.Source, &of); err != nil {
			t.Fatal(err)
		}
		store := memory.New(memory.Options{}) // of the activities, none of which runs
		h, err := newHouse(store, &of.Program, time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.steady = true
		release, opts := h.newer, recorded.Options()
		if of.Older {
			release = h.older
		}
		if of.Mode != "first" {
			opts.Lease, opts.DeadlockLimit = 30*time.Second, runtime.Off
		}
		different = recorded.Play(t, s, release, opts, changes()...)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return different
}
