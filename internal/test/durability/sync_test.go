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

// Nobody is told of anything before SQLite has synced the log that its commit is in, no page is moved to the file before the log is
// synced that has it, and no log begins anew before the file is synced. All of that is seen in what SQLite asks of the files.
func TestNobodyIsToldBeforeTheSync(t *testing.T) {
	if err := insert(); err != nil {
		t.Fatal(err)
	}
	t.Run("full", func(t *testing.T) { careful(t, audit(performed(t, sqlite.Full, enough))) })
	// What is told too early is seen.
	t.Run("normal", func(t *testing.T) { careless(t, audit(performed(t, sqlite.Normal, 20)), toldEarly) })
	t.Run("off", func(t *testing.T) {
		careless(t, audit(performed(t, sqlite.Off, enough)), toldEarly, movedEarly, anewEarly)
	})
}

// performed runs a shop in this process until it has done its orders, and answers what was recorded.
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
	s = newShop(store, func(a told) {
		tape.add(step{deed: tells, told: a})
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
