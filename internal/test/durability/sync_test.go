//go:build unix

package durability

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider/sqlite"
)

// Nothing is acknowledged before SQLite has synced the log with its commit. No page moves to the file before the log
// with it is synced. No log restarts before the file is synced. The test sees all of that in SQLite's calls on its
// files.
func TestNobodyIsToldBeforeTheSync(t *testing.T) {
	if err := insert(); err != nil {
		t.Fatal(err)
	}
	t.Run("full", func(t *testing.T) { careful(t, audit(performed(t, sqlite.Full, enough))) })
	// The test finds early acknowledgements.
	t.Run("normal", func(t *testing.T) { careless(t, audit(performed(t, sqlite.Normal, 20)), ackedEarly) })
	t.Run("off", func(t *testing.T) {
		careless(t, audit(performed(t, sqlite.Off, enough)), ackedEarly, movedEarly, anewEarly)
	})
}

// performed runs a shop in this process until its orders are done, and returns the recorded steps.
func performed(t *testing.T, level sqlite.Synchronous, orders int) []step {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), recordedFile)
	store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: level, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var s *shop
	s = newShop(store, func(a ack) {
		tape.add(step{deed: acking, ack: a})
		if a.what == asking {
			s.asked <- a
		}
	})
	node, err := s.open(ctx)
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	if err := errors.Join(s.perform(ctx, large, orders), shut(ctx, node), store.Close()); err != nil {
		t.Error(err)
	}
	return tape.taken()
}
