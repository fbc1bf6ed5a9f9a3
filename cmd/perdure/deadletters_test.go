package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// Dead letters are listed, redriven and dropped on each kind of database.
func TestDeadLetters(t *testing.T) {
	t.Run("file", func(t *testing.T) { checkDeadLetters(t, filepath.Join(t.TempDir(), "letters.db")) })
	t.Run("server", func(t *testing.T) {
		longtest.Skip(t)
		cluster := postgrestest.New(t)
		checkDeadLetters(t, cluster.URL())
	})
}

func checkDeadLetters(t *testing.T, db string) {
	t.Helper()
	moveToDeadLetters(t, db)
	said := func(want exitCode, text string, args ...string) string {
		t.Helper()
		code, stdout, stderr := perdure(t, "", append(args, "--db", db)...)
		if code != want || !strings.Contains(stdout+stderr, text) {
			t.Fatalf("%v: exit code %d, want %d with %q:\n%s%s", args, code, want, text, stdout, stderr)
		}
		return stdout
	}
	list := func(args ...string) (letters []operate.DeadLetter) {
		t.Helper()
		var out deadLettersListed
		if err := json.Unmarshal([]byte(said(exitOK, "", append([]string{"dead-letters", "list", "-o", "json"}, args...)...)), &out); err != nil {
			t.Fatal(err)
		}
		return out.Letters
	}
	all := list()
	if len(all) != 52 || all[0].Kind != "ExecutionStarted" {
		t.Fatalf("%d letters, the first is %+v", len(all), all[0])
	}
	all = all[1:] // the start
	if all[0].Kind != "EventReceived" || all[0].Name != "paid" || all[0].Instance != "ended" || string(all[0].Payload) != "0" ||
		all[0].Reason == "" || all[0].At.IsZero() {
		t.Fatalf("%d letters, the first is %+v", len(all), all[0])
	}
	again := list("--instance", "again")[1:]
	if len(again) != 25 || len(list("--limit", "30")) != 30 {
		t.Fatalf("%d letters of one instance", len(again))
	}
	said(exitOK, "paid", "dead-letters", "list")
	said(exitOK, "26; 'perdure dead-letter list", "show", "ended")
	ended, back, other := fmt.Sprint(all[0].ID), fmt.Sprint(again[0].ID), fmt.Sprint(again[1].ID)
	said(exitConflict, "instance has ended", "dead-letters", "redrive", ended)
	said(exitOK, "put letter "+back+" back", "dead-letters", "redrive", back)
	said(exitNotFound, "there is no such letter", "dead-letters", "redrive", back)
	said(exitOK, "1 message", "show", "again")
	said(exitOK, `"action": "drop"`, "dead-letters", "drop", other, "-o", "json")
	said(exitOK, "dropped letter "+ended, "dead-letters", "drop", ended)
	said(exitNotFound, "there is no such letter", "dead-letters", "drop", ended)
	said(exitNotFound, "nobody", "dead-letters", "list", "--instance", "nobody")
	if left := list(); len(left) != 49 {
		t.Errorf("%d letters are left", len(left))
	}
	said(exitOK, "", "dead-letters", "list", "--instance", "running")
	said(exitUsage, "must be a number", "dead-letters", "drop", "first")
	said(exitUsage, "must be 1 or more", "dead-letters", "list", "--limit", "0")
	said(exitUsage, "flag --instance is empty", "dead-letters", "list", "--instance", "")
	said(exitUsage, "argument LETTER is missing", "dead-letters", "drop")
	said(exitUsage, `unknown command "bury"`, "dead-letters", "bury")
}

// moveToDeadLetters makes an ended and a reopened instance, each with a start and 25 events as dead letters. It also makes one
// without dead letters.
func moveToDeadLetters(t *testing.T, name string) {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.create(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := clienttest.New(t, store, client.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"ended", "again", "running"} {
		h, err := client.StartNamed[string](t.Context(), c, "Idle", "nobody has this", client.WithID(id))
		must(err)
		if id == "running" {
			break
		}
		for n := range 25 {
			must(h.Raise(t.Context(), "paid", n))
		}
		must(h.Terminate(t.Context(), "too late"))
		if id == "again" {
			_, err = store.Steer(t.Context(), provider.SteerRequest{
				Key: h.Key(), Action: provider.SteerReset, Commit: provider.UUID(uuid.New()), EngineLevel: replay.EngineLevel,
				Events: [][]byte{history.Encode(nil, history.Event{ID: 1, Body: &history.ExecutionStarted{Name: "Idle", Settings: replay.SettingsAt(replay.EngineLevel)}})},
			})
			must(err)
		}
	}
	must(store.Close())
}
