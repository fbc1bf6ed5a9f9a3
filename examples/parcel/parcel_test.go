package parcel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/parcel"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// scan tells of a scan in Bremen.
func scan(ctx context.Context, c *client.Client) (client.Handle[[]string], error) {
	// The first scan may start the parcel, or come to one that exists: one commit does either.
	return client.Start(ctx, c, parcel.Parcel, orchestration.None{}, client.WithID("parcel-7"),
		client.WithIDPolicy(client.UseExisting), client.WithEvent("scan", parcel.Scan{Depot: "Bremen"}))
}

func TestEachScanCounts(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		told := orchestrationtest.Replace(e, parcel.Tell, nil)
		orchestrationtest.AddOrchestration(e, parcel.Parcel)
		h, err := scan(ctx, e.Client())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Raise(ctx, "scan", parcel.Scan{Depot: "Hanover"}), h.Raise(ctx, "delivered", nil)); err != nil {
			t.Fatal(err)
		}
		if depots, err := h.Wait(ctx); !slices.Equal(depots, []string{"Bremen", "Hanover"}) || err != nil || len(told.Calls()) != 2 {
			t.Errorf("%q, %v, %+v", depots, err, told.Calls())
		}
	})
}

// The evening comes while a customer pays. The takings of the day have that, too.
func TestTakingsOfADay(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		orchestrationtest.Replace(e, parcel.Receipt, nil, orchestrationtest.Delay(time.Minute))
		h := orchestrationtest.Start(e, parcel.Till, parcel.Takings{})
		paying, err := client.SendUpdate[int](ctx, h.Handle, "pay", 350)
		if err != nil {
			t.Fatal(err)
		}
		e.Sleep(time.Second)
		if err := h.Raise(ctx, "evening", nil); err != nil {
			t.Fatal(err)
		}
		if cents, err := paying.Wait(ctx); cents != 350 || err != nil {
			t.Errorf("%d, %v", cents, err)
		}
		if cents, err := client.Update[int](ctx, h.Handle, "pay", 150); cents != 500 || err != nil {
			t.Errorf("%d, %v", cents, err)
		}
		if err := h.Raise(ctx, "close", nil); err != nil {
			t.Fatal(err)
		}
		if takings, err := h.Wait(ctx); takings != (parcel.Takings{Cents: 500, Days: 1}) || err != nil {
			t.Errorf("%+v, %v", takings, err)
		}
	})
}
