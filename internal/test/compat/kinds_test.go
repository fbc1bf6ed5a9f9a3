package compat

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider/sqlite"
)

// stores are the recorded files.
func stores() []string {
	return []string{"core", "hardened", "activities", "busy", "language", "reach"}
}

// The recorded stores have an event of every kind, so that each release proves that it reads those of the releases before.
func TestEveryKindIsRecorded(t *testing.T) {
	recorded := make(map[string]bool)
	for _, name := range stores() {
		maps.Copy(recorded, kindsOf(t, name))
	}
	for n := range 256 {
		kind := history.Kind(n).String()
		if known := !strings.Contains(kind, strconv.Itoa(n)); known && !recorded[kind] {
			t.Errorf("no recorded store has a %s, but %v", kind, slices.Sorted(maps.Keys(recorded)))
		}
	}
}

// kindsOf returns the kinds of all events in a recorded store, of all executions.
func kindsOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	store, err := sqlite.Open(copied(t, name+".db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := clienttest.New(t, store, client.Options{})
	kinds := make(map[string]bool)
	for d, err := range c.All(t.Context(), client.Filter{}) {
		for n := int64(1); err == nil && n <= d.Execution && d.HistoryLength > 0; n++ {
			for e, failed := range c.History(t.Context(), d.ID, n) {
				if failed != nil {
					t.Fatal(failed)
				}
				kinds[e.Kind] = true
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return kinds
}
