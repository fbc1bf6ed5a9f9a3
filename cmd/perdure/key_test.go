package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider/sqlite"
)

// Acts with --key reach the instance with that key, also when its ID names another one by now.
func TestActsByKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c := clienttest.New(t, store, client.Options{})
	start := func() client.Handle[json.RawMessage] {
		h, err := client.StartNamed[json.RawMessage](t.Context(), c, "Order", nil, client.WithID("order"), client.WithIDPolicy(client.ReplaceEnded))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := start()
	act := func(want exitCode, args ...string) string {
		t.Helper()
		code, out, text := perdure(t, "", append(args, "--key", "--db", path)...)
		if code != want {
			t.Errorf("%s: %s%s, exit code %d, want %d", args, out, text, code, want)
		}
		return out + text
	}
	key := first.Key().String()
	if said := act(0, "suspend", key); !strings.Contains(said, "suspended order") {
		t.Errorf("suspend said %q", said)
	}
	act(0, "resume", key)
	act(0, "raise", key, "paid", "7")
	act(0, "cancel", key)
	act(exitConflict, "unblock", key)
	act(exitNotFound, "suspend", "01a20e11-e2a6-8398-bdfa-955c1e2eeb7b")
	act(exitUsage, "terminate", "order")
	act(0, "terminate", key)
	second := start()
	if said := act(exitConflict, "restart", key); !strings.Contains(said, second.Key().String()) {
		t.Errorf("a restart of a replaced instance said %q", said)
	}
	act(exitConflict, "raise", key, "paid")
	act(0, "delete", key, "--yes")
	act(exitNotFound, "delete", key, "--yes")
	if d, err := c.Describe(t.Context(), "order"); err != nil || d.Key != second.Key() || d.Status != client.StatusRunning || d.InboxMessages != 1 {
		t.Errorf("the other instance: %+v, %v", d, err)
	}
}
