package encryption_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/examples/ports/encryption"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// secret returns what a service would read from its secret store.
func secret(ids ...string) string {
	var keys []string
	for _, id := range ids {
		key := bytes.Repeat([]byte(id[len(id)-1:]), 32) // a real one is random
		keys = append(keys, fmt.Sprintf(`{"ID": %q, "Bytes": %q}`, id, base64.StdEncoding.EncodeToString(key)))
	}
	return "[" + strings.Join(keys, ",") + "]"
}

func start(t *testing.T, store provider.Provider, keys string) (*runtime.Runtime, *client.Client) {
	t.Helper()
	c, err := encryption.Codec(keys)
	if err != nil {
		t.Fatal(err)
	}
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, encryption.Pay); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Codec: c})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := rt.Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rt, cl
}

// A payment begins under one key and ends under the next. The database never has the number.
func TestRotateWhileItRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payments.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const number = "4242-4242-4242-4242"
	rt, c := start(t, store, secret("2026-11"))
	h, err := client.Start(t.Context(), c, encryption.Pay, encryption.Payment{Number: number, Cents: 250}, client.WithID("payment-1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	rt, c = start(t, store, secret("2026-12", "2026-11")) // the next deploy
	h = client.HandleOf[string](c, h.ID(), h.Key())
	if err := h.Raise(t.Context(), "confirm", "ann"); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Wait(t.Context()); err != nil || got != "250 cents from "+number+", confirmed by ann" {
		t.Errorf("%q, %v", got, err)
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte("payment-1")) || bytes.Contains(data, []byte("4242")) {
		t.Errorf("the database has the ID: %t, the number: %t, %v", bytes.Contains(data, []byte("payment-1")), bytes.Contains(data, []byte("4242")), err)
	}
}

func TestKeysThatCannotBeRead(t *testing.T) {
	for _, bad := range []string{"", "[]", `[{"ID": "a", "Bytes": "c2hvcnQ="}]`} {
		if c, err := encryption.Codec(bad); err == nil || strings.Contains(err.Error(), "c2hvcnQ") || codec.Seals(c) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPay(t *testing.T) {
	c, err := encryption.Codec(secret("test"))
	if err != nil {
		t.Fatal(err)
	}
	withCodec := orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Codec = c })
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, encryption.Pay, encryption.Payment{Number: "4242", Cents: 250})
		e.After(time.Hour, func() error { return h.Raise(e.Context(), "confirm", "ann") })
		if got, err := h.Wait(e.Context()); err != nil || got != "250 cents from 4242, confirmed by ann" {
			t.Errorf("%q, %v", got, err)
		}
	}, withCodec)
}
