package sqlite_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// The clock of the machine is set forward and back by hours while nodes work.
func TestClockStepsUnderLoad(t *testing.T) {
	t.Parallel()
	p, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.On(t, p, runtime.Options{}).StepClock(sqlite.ClockOf(p))
}
