package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/model"
)

func TestModel(t *testing.T) {
	count := 40
	if racedetector.On {
		count = 12 // make test-long runs the others without the race detector
	}
	empty := emptyStore(t)
	model.Run(t, func(t testing.TB) provider.Provider {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path, Options{Synchronous: Off})
	}, model.Count(count))
}

// Two more handles of the file know other things than the first.
func TestModelThroughHandles(t *testing.T) {
	count := 20
	if racedetector.On {
		count = 6 // make test plays the others without the race detector
	}
	empty := emptyStore(t)
	again := func(t testing.TB, first provider.Provider) provider.Provider {
		own, _ := provider.As[*Provider](first)
		return openTest(t, own.store.path, Options{Synchronous: Off})
	}
	model.Run(t, func(t testing.TB) provider.Provider {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path, Options{Synchronous: Off})
	}, model.Count(count), model.Handles(again, again))
}
