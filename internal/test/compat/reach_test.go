package compat

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/reach.db. It is frozen, because the store holds its histories.

// Reached waits for an event. Nobody but code reaches it.
func Reached(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.Events[string](ctx, "go").Receive(ctx)
}

// Reaches has started two instances, which tell their ends, has sent events and cancel requests, and was refused some. It waits for an event.
func Reaches(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	word := ""
	for _, id := range []string{"told-a", "told-b"} {
		run, err := orchestration.StartDetached(ctx, Reached, orchestration.None{},
			orchestration.WithInstanceID(id), orchestration.WithRequestID("r"), orchestration.TellEnd("over")).Get(ctx)
		if err != nil {
			return "", err
		}
		if id == "told-b" {
			if _, err := run.Cancel(ctx, "recorded").Get(ctx); err != nil {
				return "", err
			}
		}
	}
	_, err := orchestration.Raise(ctx, "nobody", "go", "").Get(ctx)
	if errors.Is(err, orchestration.ErrNotFound) {
		word += "gone "
	}
	over := orchestration.Events[orchestration.Ended](ctx, "over")
	one, err := over.Receive(ctx)
	if err != nil {
		return "", err
	}
	word += one.ID + " "
	ctx.SetStatus("waits")
	if _, err := orchestration.Events[string](ctx, "go").Receive(ctx); err != nil {
		return "", err
	}
	if _, err := orchestration.Raise(ctx, "told-a", "go", "on").Get(ctx); err != nil {
		return "", err
	}
	two, err := over.Receive(ctx)
	return word + two.ID, err
}

func reachRegistry() *runtime.Registry {
	reg := runtime.NewRegistry()
	_ = errors.Join(runtime.AddOrchestration(reg, Reached), runtime.AddOrchestration(reg, Reaches))
	return reg
}

// TestRecordReach records the store. Each instance stops where the comment of its code says.
func TestRecordReach(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "reach.db")
	n := open(t, path, reachRegistry())
	must[client.Handle[string]](t)(client.Start(t.Context(), n.c, Reaches, orchestration.None{}, client.WithID("reaches")))
	n.until(t, "reaches", func(d client.Description) bool { return string(d.CustomStatus) == `"waits"` })
	n.record(t, path, "reach")
}

func TestReachStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "reach.db"), reachRegistry())
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := n.c.Raise(ctx, "reaches", "go", ""); err != nil {
		t.Fatal(err)
	}
	n.ends(ctx, t, map[string]string{"reaches": `"gone told-b told-a"`, "told-a": `"on"`})
}
