package progress_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/progress"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	if err := errors.Join(runtime.AddOrchestration(reg, progress.Import), runtime.AddActivity(reg, progress.Load)); err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, progress.Import, progress.Batch{Region: "eu", Files: []string{"a.csv", "bb.csv"}},
		client.WithID("import-7"), client.WithAttribute("customer", "acme"))
	if err != nil {
		log.Panic(err)
	}
	if _, err := h.Wait(ctx); err != nil {
		log.Panic(err)
	}

	// Both read what the last stored turn has set, while the orchestration runs and after its end.
	p, err := client.StatusOf[progress.Progress](ctx, h)
	fmt.Println(p, err)
	rows, err := client.Value[int](ctx, h, "rows of bb.csv")
	fmt.Println(rows, err)

	// All imports of two regions that are not loading any more.
	filter := client.Filter{Orchestration: "Import", Attributes: []client.AttributeFilter{
		client.AttributeIs("region", "eu", "us"), client.AttributeIs("state", "loaded", "failed"),
	}}
	for d, err := range c.All(ctx, filter) {
		fmt.Println(d.ID, d.Attributes["customer"], err)
	}
	// Output:
	// {2 2} <nil>
	// 6 <nil>
	// import-7 acme <nil>
}
