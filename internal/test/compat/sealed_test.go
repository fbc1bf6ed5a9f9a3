package compat

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/sealed.db. It is frozen, because the store holds its histories.

// SealedHost has started a child with each option and an instance that is no child, and waits with a text for an event. Then it ends its
// child's wait, continues as new beside a queue of updates, and ends.
func SealedHost(ctx *orchestration.Context, round int) (string, error) {
	orchestration.HandleUpdate(ctx, "add", func(ctx *orchestration.Context, n int) (int, error) {
		_, err := orchestration.Events[string](ctx, "open").Receive(ctx)
		return n + 100*round, err
	}, orchestration.Serial())
	if round == 1 {
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	}
	child := orchestration.StartChild(ctx, SealedGuest, "child", orchestration.WithInstanceID("sealed-child"), orchestration.WithAttribute("kind", "guest"),
		orchestration.WithHeader("trace", "t1"), orchestration.WithCancellation(orchestration.WaitForEnd),
		orchestration.WithClosePolicy(orchestration.CloseAbandon), orchestration.WithTimeLimit(99*365*24*time.Hour))
	begun, err := child.Started.Get(ctx)
	if err != nil {
		return "", err
	}
	other := orchestration.StartDetached(ctx, SealedGuest, "other", orchestration.WithInstanceID("sealed-other"), orchestration.WithAttribute("kind", "other"),
		orchestration.WithEvent("word", "first"))
	if _, err := other.Get(ctx); err != nil {
		return "", err
	}
	ctx.SetStatus("waits")
	word, err := orchestration.Events[string](ctx, "go").Receive(ctx, orchestration.Waiting("say go to "+begun.ID))
	if err != nil {
		return "", err
	}
	got, err := child.Get(ctx)
	if err != nil || word != "go" {
		return got, err
	}
	return "", orchestration.ContinueAsNew(ctx, 1)
}

// SealedGuest waits for an event and returns it.
func SealedGuest(ctx *orchestration.Context, name string) (string, error) {
	word, err := orchestration.Events[string](ctx, "word").Receive(ctx)
	return name + " " + word, err
}

func sealedRegistry(t *testing.T) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	err := errors.Join(runtime.AddOrchestration(reg, SealedHost), runtime.AddOrchestration(reg, SealedGuest))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// openSealed opens a store with the key that has sealed it.
func openSealed(t *testing.T, path string) *node {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := codec.AES(codec.Key{ID: "2026-11", Bytes: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, sealedRegistry(t), runtime.Options{Codec: keys, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &node{store, rt, clienttest.Of(t, rt, client.Options{})}
}

// TestRecordSealed records the store. Each instance stops where the comment of its code says.
func TestRecordSealed(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "sealed.db")
	n := openSealed(t, path)
	h := must[client.Handle[string]](t)(client.Start(t.Context(), n.c, SealedHost, 0, client.WithID("sealed")))
	n.until(t, "sealed", func(d client.Description) bool { return string(d.CustomStatus) == `"waits"` })
	for i := range 2 {
		if _, err := client.SendUpdate[int](t.Context(), h, "add", i+1, client.WithUpdateID([]string{"u-1", "u-2"}[i])); err != nil {
			t.Fatal(err)
		}
	}
	n.record(t, path, "sealed")
}

func TestSealedStoreFinishes(t *testing.T) {
	n := openSealed(t, copied(t, "sealed.db"))
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	waiting, err := n.c.List(ctx, client.Filter{Waiting: true}, client.Page{})
	if err != nil || len(waiting.Items) != 1 || waiting.Items[0].Waiting.Text != "say go to sealed-child" {
		t.Errorf("%+v, %v", waiting, err)
	}
	for _, m := range [][3]string{{"sealed-child", "word", "c"}, {"sealed", "go", "go"}} {
		if err := n.c.Raise(ctx, m[0], m[1], m[2]); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "sealed", func(d client.Description) bool { return d.Execution == 2 })
	for _, m := range [][3]string{{"sealed", "open", ""}, {"sealed", "open", ""}, {"sealed", "end", "done"}} {
		if err := n.c.Raise(ctx, m[0], m[1], m[2]); err != nil {
			t.Fatal(err)
		}
	}
	n.ends(ctx, t, map[string]string{"sealed": `"done"`, "sealed-child": `"child c"`, "sealed-other": `"other first"`})
}
