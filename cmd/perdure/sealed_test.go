package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// What is printed of an instance that moves says that it is sealed, and what helps. To the storage it is suspended and may count as one that is
// being deleted, of which nothing is printed. An export that was interrupted leaves it as one that is done does.
func TestSealedInstancesAreShownAsSealed(t *testing.T) {
	for name, seal := range map[string]func(t *testing.T, db string){"held": holdIdle, "closed": exportAll} {
		t.Run(name, func(t *testing.T) {
			db := fixture(t)
			seal(t, db)
			for _, c := range []struct{ name, line string }{
				{"list-sealed", "list --name Idle --db DB"},
				{"show-sealed", "show idle-1 --db DB"},
				{"tree-sealed", "tree idle-1 --db DB"},
			} {
				checkCommand(t, c.name, c.line, db)
				_, text, _ := perdure(t, "", strings.Fields(strings.ReplaceAll(c.line, "DB", db))...)
				if !strings.Contains(text, "Sealed") || strings.Contains(text, "Suspended") || strings.Contains(text, "deleted") {
					t.Errorf("%s does not show it as sealed:\n%s", c.line, text)
				}
			}
		})
	}
}

// exportAll moves everything away.
func exportAll(t *testing.T, db string) {
	t.Helper()
	if code, _, stderr := perdure(t, "", "export", filepath.Join(t.TempDir(), "all.export"), "--seal", "--yes", "--db", db); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
}

// holdIdle does the first step of an export that moves idle-1 away.
func holdIdle(t *testing.T, db string) {
	t.Helper()
	store, err := sqlite.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Lookup[any](t.Context(), clienttest.New(t, store, client.Options{}), "idle-1")
	if err != nil {
		t.Fatal(err)
	}
	mover, _ := provider.As[provider.Mover](store)
	_, err = mover.Seal(t.Context(), provider.SealRequest{
		Key: h.Key(), Transfer: provider.UUID(uuid.New()), To: provider.SealHeld, Commit: provider.UUID(uuid.New()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
