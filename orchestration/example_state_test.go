package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

type Copied struct{ Pages, Of int }

// Copy shows how many pages it has copied.
func Copy(ctx *orchestration.Context, pages int) (string, error) {
	orchestration.SetAttribute(ctx, "pages", pages)
	for n := range pages {
		ctx.SetStatus(Copied{Pages: n, Of: pages})
		checksum, err := orchestration.CallActivity(ctx, CopyPage, n)
		if err != nil {
			return "", err
		}
		orchestration.SetValue(ctx, fmt.Sprint("checksum ", n), checksum)
	}
	ctx.SetStatus(Copied{Pages: pages, Of: pages})
	return "copied", nil
}

// CopyPage copies a page and returns its checksum.
func CopyPage(_ context.Context, n int) (int, error) { return 7 * n, nil }

func ExampleContext_SetStatus() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Copy), runtime.AddActivity(reg, CopyPage)); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Copy, 3)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	fmt.Println(client.StatusOf[Copied](ctx, h)) // from any process, also while it runs
	fmt.Println(client.Value[int](ctx, h, "checksum 2"))
	fmt.Println(c.Count(ctx, client.Filter{Attributes: []client.AttributeFilter{client.AttributeFrom("pages", 2)}}))
	// Output:
	// copied <nil>
	// {3 3} <nil>
	// 14 <nil>
	// 1 <nil>
}
