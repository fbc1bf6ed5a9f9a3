package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/engine"
)

func TestEngine(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("make test-long runs it without the race detector, and that of the memory store with it")
	}
	empty := emptyStore(t)
	engine.Run(t, func(t *testing.T) provider.Provider {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path, Options{})
	}, engine.Peer(func(t *testing.T, first provider.Provider) provider.Provider {
		return openTest(t, first.(*Provider).store.path, Options{})
	}))
}
