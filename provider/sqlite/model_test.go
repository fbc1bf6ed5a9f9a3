package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/model"
)

func TestModel(t *testing.T) {
	empty := emptyStore(t)
	model.Run(t, func(t testing.TB) provider.Provider {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path, Options{Synchronous: Off})
	}, model.Count(40))
}
