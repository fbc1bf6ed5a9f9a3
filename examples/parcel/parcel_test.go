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
	if err := errors.Join(runtime.AddOrchestration(reg, parcel.Parcel), runtime.AddActivity(reg, parcel.Tell),
		runtime.AddOrchestration(reg, parcel.Till), runtime.AddActivity(reg, parcel.Receipt)); err != nil {
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

func Example_till() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, parcel.Till, parcel.Takings{})
	if err != nil {
		log.Panic(err)
	}
	// The evening comes while a customer pays. The takings of the day have that, too.
	paying, err := client.SendUpdate[int](ctx, h, "pay", 350)
	if err == nil {
		_, err = paying.Wait(ctx, client.UntilAccepted())
	}
	err = errors.Join(err, h.Raise(ctx, "evening", nil))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(paying.Wait(ctx))
	fmt.Println(client.Update[int](ctx, h, "pay", 150))
	if err := h.Raise(ctx, "close", nil); err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// 350 <nil>
	// 500 <nil>
	// {500 1} <nil>
}
