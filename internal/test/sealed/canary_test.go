package sealed

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// findCanary returns what is around the canary in a text, also in base 64; "": it is not there.
func findCanary(text []byte) string {
	encoded := base64.StdEncoding.EncodeToString([]byte("xx" + canary + "xx"))
	for _, want := range []string{canary, encoded[4 : len(encoded)-4], fmt.Sprintf("%x", canary)} {
		if at := bytes.Index(text, []byte(want)); at >= 0 {
			return fmt.Sprintf("%q", text[max(0, at-200):min(len(text), at+200)])
		}
	}
	return ""
}

// stores are the stores with a dump of what they hold; nil: they cannot be dumped.
func eachStore(t *testing.T, test func(t *testing.T, store provider.Provider, dump func(t *testing.T) []byte)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memory.New(memory.Options{}), nil)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "perdure.db")
		store, err := sqlite.OpenWith(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, store, func(t *testing.T) []byte {
			t.Helper()
			files, err := filepath.Glob(path + "*")
			if err != nil || len(files) < 2 {
				t.Fatal(files, err)
			}
			var all []byte
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, data...)
			}
			return all
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("pg_dump"); err != nil {
			t.Skip(err)
		}
		at := postgrestest.URL(t)
		schema := postgrestest.Schema(t, at)
		store, err := postgres.OpenWith(t.Context(), at, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		test(t, store, func(t *testing.T) []byte {
			t.Helper()
			if _, err := url.Parse(at); err != nil {
				t.Fatal(err)
			}
			dump, err := exec.CommandContext(t.Context(), "pg_dump", "--schema", schema, "--data-only", at).CombinedOutput()
			if err != nil {
				t.Skipf("pg_dump: %v\n%s", err, dump)
			}
			return dump
		})
	})
}

// Nothing that code of the user makes is in a store, in a log line or in an export. All the same the outcomes are those of plain stores.
func TestHazard82_NothingLeaks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store provider.Provider, dump func(t *testing.T) []byte) {
		log := new(lines)
		e := enginetest.On(t, store, runtime.Options{Codec: aes(t, "k1"), Logger: log.logger()})
		rt := e.Start(registry(t))
		c, err := rt.Client(client.Options{Logger: log.logger()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := play(t, c, "order-1")
		if err != nil || strings.Count(got, canary) < 15 || strings.Contains(got, "hidden") {
			t.Fatalf("%q, %v", got, err)
		}
		exported := steer(t, c)
		if text := findCanary(exported); text != "" {
			t.Errorf("an export has the canary: %s", text)
		}
		if dump == nil {
			return
		}
		all := dump(t)
		if !bytes.Contains(all, []byte("order-1")) {
			t.Fatal("the dump does not have the ID, so it is no dump")
		}
		if text := findCanary(all); text != "" {
			t.Errorf("the store has the canary: %s", text)
		}
		if text := findCanary([]byte(log.String())); text != "" {
			t.Errorf("the log has the canary: %s", text)
		}
		if err := rt.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// steer uses what operators do, and returns exports.
func steer(t *testing.T, c *client.Client) []byte {
	t.Helper()
	ctx := t.Context()
	blocked, err := client.StartNamed[string](ctx, c, "panics", secret("boom"), client.WithID("panics"))
	if err == nil {
		err = blocked.Raise(ctx, "go", secret("go"))
	}
	if err != nil {
		t.Fatal(err)
	}
	failed, ok := errors.AsType[*client.BlockedError](waitBlocked(t, blocked))
	if !ok || !strings.Contains(failed.Blocked.Message, secret("boom")) {
		t.Errorf("blocked as %+v", failed)
	}
	d, err := blocked.Describe(ctx)
	if err != nil || d.Blocked == nil || !strings.Contains(d.Blocked.Message, secret("boom")) {
		t.Errorf("%+v, %v", d.Blocked, err)
	}
	if err := blocked.Terminate(ctx, secret("terminated")); err != nil {
		t.Error(err)
	}
	if _, err := blocked.Wait(ctx); err == nil || !strings.Contains(err.Error(), secret("terminated")) {
		t.Errorf("terminated: %v", err)
	}
	simple, err := client.StartNamed[string](ctx, c, "simple", secret("simple"), client.WithID("simple"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := simple.Wait(ctx)
	if err != nil || !strings.HasPrefix(want, secret("simple")) {
		t.Fatalf("%q, %v", want, err)
	}
	again, err := simple.Restart(ctx, "again", client.RestartAs("simple-2"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Wait(ctx); err != nil || got != want {
		t.Errorf("restarted: %q, %v, want %q", got, err, want)
	}
	if _, err := client.Reset(ctx, again, 1, client.WithInput(secret("reset"))); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Wait(ctx); err != nil || !strings.HasPrefix(got, secret("reset")) {
		t.Errorf("reset: %q, %v", got, err)
	}
	forked, err := client.Fork(ctx, simple, 3, "simple-3")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := forked.Wait(ctx); err != nil || got != want {
		t.Errorf("forked: %q, %v, want %q", got, err, want)
	}
	return exports(t, c, simple)
}

func waitBlocked(t *testing.T, h client.Handle[string]) error {
	t.Helper()
	_, err := h.Wait(t.Context(), client.OrBlocked())
	return err
}

// exports returns a history file and an export of all instances.
func exports(t *testing.T, c *client.Client, simple client.Handle[string]) []byte {
	t.Helper()
	ctx := t.Context()
	f, err := simple.ExportHistory(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := client.WriteHistory(&out, f); err != nil {
		t.Fatal(err)
	}
	plain, err := f.Decrypt(ctx, aes(t, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for e, err := range plain.Readable() {
		found = found || err == nil && strings.Contains(string(e.Input), canary)
	}
	if !found {
		t.Error("the decrypted history does not have the input")
	}
	if _, err := f.Decrypt(ctx, aes(t, "k2")); !errors.Is(err, client.ErrEncrypted) {
		t.Errorf("decrypted with another key: %v", err)
	}
	if _, err := operate.New(c).Export(ctx, &out, operate.ExportOptions{}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	return out.Bytes()
}
