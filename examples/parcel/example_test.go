package parcel_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/parcel"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	if err := errors.Join(runtime.AddOrchestration(reg, parcel.Parcel), runtime.AddActivity(reg, parcel.Tell)); err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	// The first scan may start the parcel, or come to one that exists: one commit does either.
	h, err := client.Start(ctx, c, parcel.Parcel, orchestration.None{}, client.WithID("parcel-7"),
		client.WithIDPolicy(client.UseExisting), client.WithEvent("scan", parcel.Scan{Depot: "Bremen"}))
	if err != nil {
		log.Panic(err)
	}
	err = errors.Join(h.Raise(ctx, "scan", parcel.Scan{Depot: "Hanover"}), h.Raise(ctx, "delivered", nil))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// [Bremen Hanover] <nil>
}
