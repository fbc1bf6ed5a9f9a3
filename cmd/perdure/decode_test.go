package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// The command gets a JSON value for each item, and prints one.
func TestDecoder(t *testing.T) {
	t.Parallel()
	items := []codec.Sealed{{KeyID: "k1", Purpose: codec.Event, Bytes: []byte("a")}, {KeyID: "k2", Purpose: codec.Status, Bytes: []byte("b")}}
	// "MQ==" is 1, and "Mg==" is 2.
	d := &decoder{command: `grep -c '"key":"k[12]","purpose":"[a-z]*","bytes":"Y[QgWw]==' >/dev/null; echo '"MQ=="'; echo '"Mg=="'`}
	got, err := d.Open(t.Context(), items)
	if err != nil || len(got) != 2 || string(got[0].Bytes) != "1" || string(got[1].Bytes) != "2" || got[1].Purpose != codec.Status {
		t.Errorf("%q, %v", got, err)
	}
	for command, want := range map[string]string{"exit 3": "exit status 3", "echo '\"MQ==\"'": "printed 1 of 2", "echo text": "printed 0 of 2"} {
		if _, err := (&decoder{command: command}).Open(t.Context(), items); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, codec.ErrNoKey) {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := (&decoder{command: "echo null"}).Open(t.Context(), items); !errors.Is(err, codec.ErrNoKey) {
		t.Errorf("null: %v", err)
	}
	if a := (&app{decode: "cat"}); codec.Seals(a.clientOptions().Codec) || (&app{}).clientOptions().Codec != nil {
		t.Error("the command line would encrypt")
	}
}

// identity encrypts nothing, so that a command of the shell can decrypt it.
type identity struct{}

func (identity) Growth() int { return 0 }

func (identity) Seal(_ context.Context, items []codec.Plain) ([]codec.Sealed, error) {
	out := make([]codec.Sealed, len(items))
	for i, item := range items {
		out[i] = codec.Sealed{Purpose: item.Purpose, KeyID: "k1", Bytes: item.Bytes}
	}
	return out, nil
}

func (identity) Open(context.Context, []codec.Sealed) ([]codec.Plain, error) {
	return nil, codec.ErrNoKey
}

// Values that the command line cannot open are shown with the key. With --decode they are opened, and nothing can be changed.
func TestEncryptedValuesAreShown(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	store, err := sqlite.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := upgradeTo(t, store); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(store, client.Options{Codec: identity{}})
	if err == nil {
		_, err = client.StartNamed[string](t.Context(), c, "order", "secret input", client.WithID("order-1"), client.WithEvent("pay", "secret event"))
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Describe(t.Context(), "order-1")
	if err == nil {
		_, err = store.Steer(t.Context(), provider.SteerRequest{
			Key: h.Key, Action: provider.SteerTerminate, Commit: provider.UUID{1}, Result: history.EncodeSealed(history.Kept{
				Key: "k1", Bytes: history.EncodeOutcome(history.Outcome{Output: []byte(`"secret output"`)}),
			}),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	command := `sed 's/.*"bytes":\("[^"]*"\).*/\1/'`
	for _, args := range [][]string{{"show", "order-1"}, {"show", "order-1", "-o", "json"}, {"dead-letters", "-o", "json"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--db", db), nil, &out, &errs)
		if code != exitOK || !strings.Contains(out.String(), "k1") || strings.Contains(out.String(), "secret") {
			t.Errorf("%q without the key: exit code %d, %s%s", args, code, out.String(), errs.String())
		}
		out.Reset()
		if code := run(t.Context(), append(args, "--db", db, "--decode", command), nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), "secret") {
			t.Errorf("%q with --decode: exit code %d, %s%s", args, code, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	args := []string{"delete", "order-1", "--yes", "--db", db, "--decode", command}
	if code := run(t.Context(), args, nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "leave the flag out") ||
		strings.Contains(errs.String(), "store") {
		t.Errorf("--decode deletes: %s%s", out.String(), errs.String())
	}
	refusedDecoders(t, db)
}

// upgradeTo lets a store allow the newest level.
func upgradeTo(t *testing.T, store provider.Provider) (bool, error) {
	t.Helper()
	_, changed, err := upgrade.Finish(t.Context(), provider.FullOf(store), replay.EngineLevel, true)
	return changed, err
}

// A command of --decode that does not work is a mistake of usage. It runs once, and nobody takes it for an outage of the storage.
func refusedDecoders(t *testing.T, db string) {
	t.Helper()
	for _, c := range []struct{ command, says string }{
		{"echo no key file >&2; exit 3", "no key file"},
		{"cat", "printed 0 of"},
		{"true", "printed 0 of"},
		{"/no/such/command", "/no/such/command"},
	} {
		for _, line := range []string{"show order-1", "result order-1", "history order-1", "list", "show order-1 -o json"} {
			ran := filepath.Join(t.TempDir(), "ran")
			var out, errs bytes.Buffer
			code := run(t.Context(), append(strings.Fields(line), "--db", db, "--decode", "echo >>"+ran+"; "+c.command), nil, &out, &errs)
			times, err := os.ReadFile(ran)
			if line == "list" && err != nil { // it shows no values of this instance
				continue
			}
			if code != exitUsage || !strings.Contains(errs.String(), "flag --decode: command ") || !strings.Contains(errs.String(), c.says) ||
				strings.Contains(errs.String(), "storage") || err != nil || len(times) > 3 {
				t.Errorf("%s --decode %q: exit code %d after %d calls: %s", line, c.command, code, len(times), errs.String())
			}
		}
	}
}
