package relational

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/provider"
)

// Whatever a rule changes of a stored instance, the calls that follow it are woken: SQLite looks for nothing else that this process does.
func TestHazard83_EveryChangeIsNamed(t *testing.T) {
	seen := 0
	eachCase(t, func(t *testing.T, c ruleCase, fast bool) {
		w := c.world(fast)
		before := w.state.clone()
		_, err := w.member(c.call, 0)
		switch {
		case err == nil:
		case c.err != nil && errors.Is(err, c.err):
			return
		default:
			t.Fatal(err)
		}
		w.flush(t)
		for key := range changedIn(&before, &w.state) {
			if _, stored := before.heads[key]; !stored {
				continue
			}
			if seen++; !slices.Contains(w.tx.Touched, key) && !slices.Contains(w.tx.Effects.Changed, key) {
				t.Errorf("nobody learns that %s has changed: %v", named(key), w.writes)
			}
		}
	})
	if seen < 100 {
		t.Errorf("only %d changes were made", seen)
	}
}

// changedIn returns the instances whose heads, tasks, inboxes or dead letters differ.
func changedIn(before, after *state) map[provider.UUID]bool {
	changed := map[provider.UUID]bool{}
	differ(before.heads, after.heads, func(key provider.UUID, _, _ Head) { changed[key] = true })
	differ(before.tasks, after.tasks, func(ref provider.TaskRef, _, _ Task) { changed[ref.Key] = true })
	differ(before.inbox, after.inbox, func(at messageAt, _, _ Message) { changed[at.key] = true })
	differ(before.letters, after.letters, func(_ int64, was, is DeadLetterRow) { changed[was.Key], changed[is.Key] = true, true })
	return changed
}

// differ calls fn with what is different in two maps, and the zero value for what is not there.
func differ[K comparable, V any](before, after map[K]V, fn func(key K, was, is V)) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for key := range all {
		was, had := before[key]
		is, has := after[key]
		if had != has || !reflect.DeepEqual(was, is) {
			fn(key, was, is)
		}
	}
}
