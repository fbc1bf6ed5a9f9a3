package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

func TestUpgrade(t *testing.T) { checkUpgrade(t, fixture(t)) }

// checkUpgrade finishes the upgrade of a copy of the fixture that is made to look older, while a node of the release before
// is listed.
func checkUpgrade(t *testing.T, name string) {
	t.Helper()
	makeOlder(t, name)
	checkCommand(t, "upgrade-status", "upgrade status --db DB", name)
	if s := upgradeStatusIn(t, name); s.Level != upgrade.Unrecorded || s.Recorded || s.Binary != replay.EngineLevel ||
		len(s.Nodes) != 2 || s.Nodes[0].Level != replay.EngineLevel || s.Nodes[1].Level != 1 || s.Nodes[1].Above == 0 {
		t.Errorf("before: %+v", s)
	}
	code, stdout, stderr := perdure(t, "", "upgrade", "--finish", "--db", name)
	if code != exitConflict || stdout != "" || !strings.Contains(stderr, `"web-2"`) || !strings.Contains(stderr, "--force") || strings.Contains(stderr, "web-1") {
		t.Errorf("exit code %d, %s: %s", code, stdout, stderr)
	}
	if code, _, stderr := perdure(t, "", "upgrade", "--finish", "--force", "--read-only", "--db", name); code != exitStore {
		t.Errorf("read-only: exit code %d: %s", code, stderr)
	}
	if s := upgradeStatusIn(t, name); s.Recorded {
		t.Errorf("after the refusals: %+v", s)
	}
	checkCommand(t, "upgrade-forced", "upgrade --finish --force --db DB", name)
	checkCommand(t, "upgrade-finished", "upgrade --finish --db DB", name)
	if s := upgradeStatusIn(t, name); s.Level != replay.EngineLevel || !s.Recorded {
		t.Errorf("after: %+v", s)
	}
}

func upgradeStatusIn(t *testing.T, name string) (s upgradeStatus) {
	t.Helper()
	code, stdout, stderr := perdure(t, "", "upgrade", "status", "-o", "json", "--db", name)
	if err := json.Unmarshal([]byte(stdout), &s); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	return s
}

// makeOlder removes the record of the level, and lists two nodes.
func makeOlder(t *testing.T, name string) {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	full := provider.FullOf(store)
	if _, err := full.Record(t.Context(), provider.RecordRequest{
		Action: provider.RecordDelete, Namespace: "perdure", Key: "engine/level", Expect: 1,
	}); err != nil {
		t.Fatal(err)
	}
	for owner, level := range map[string]int64{"web-1": replay.EngineLevel, "web-2": 1} {
		runs := []provider.Capability{{Name: "Greet"}, {Name: "Count"}}
		if _, err := upgrade.Join(t.Context(), upgrade.New(full, level), owner, runs, slog.New(slog.DiscardHandler), nil); err != nil {
			t.Fatal(err)
		}
	}
}
