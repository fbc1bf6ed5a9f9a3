package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Nap sleeps for a day.
func Nap(ctx *orchestration.Context, _ orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, ctx.Sleep(24 * time.Hour)
}

// Show does not count timers as messages.
func TestShowTellsTimersFromMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nap.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Nap); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Start(t.Context(), clienttest.New(t, store, client.Options{}), Nap, orchestration.None{}, client.WithID("nap"))
	if err != nil {
		t.Fatal(err)
	}
	for asleep := false; !asleep && t.Context().Err() == nil; {
		d, err := h.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		asleep = d.HistoryLength == 2
	}
	if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	show := func() string {
		t.Helper()
		code, stdout, stderr := perdure(t, "", "show", "nap", "--db", path)
		if code != exitOK {
			t.Fatal(stderr)
		}
		return stdout
	}
	if text := show(); strings.Contains(text, "message") || !strings.Contains(text, "1 timer, the next fires at ") {
		t.Errorf("an instance that sleeps is shown as\n%s", text)
	}
	if err := h.Raise(t.Context(), "word", "hi"); err != nil {
		t.Fatal(err)
	}
	if text := show(); !strings.Contains(text, "2 messages and timers") {
		t.Errorf("an instance that sleeps and has an event is shown as\n%s", text)
	}
}

// The JSON output of migrate print has the same SQL as the text output.
func TestMigratePrintAsJSON(t *testing.T) {
	for _, db := range []string{"", "postgres://me@host/app"} {
		args := []string{"migrate", "print"}
		if db != "" {
			args = append(args, "--db", db)
		}
		_, text, _ := perdure(t, "", args...)
		code, stdout, stderr := perdure(t, "", append(args, "-o", "json")...)
		var out struct {
			Migrations []migrationSQL `json:"migrations"`
		}
		if err := json.Unmarshal([]byte(stdout), &out); code != exitOK || err != nil || len(out.Migrations) == 0 {
			t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
		}
		for _, m := range out.Migrations {
			if m.SQL == "" || m.Name == "" || !strings.Contains(text, m.SQL) {
				t.Errorf("migration %d %q differs from the text", m.Version, m.Name)
			}
		}
	}
}
