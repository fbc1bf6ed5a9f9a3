package header_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// tenant is the key of the tenant in contexts of this service.
type tenant struct{}

// Bill finds the tenant in its context, though no input names it.
func Bill(ctx context.Context, cents int) (string, error) {
	return fmt.Sprintf("%v pays %d, header %v", ctx.Value(tenant{}), cents, activity.GetInfo(ctx).Header), nil
}

func Order(ctx *orchestration.Context, cents int) (string, error) {
	return orchestration.CallActivity(ctx, Bill, cents)
}

func ExampleValue() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Order), runtime.AddActivity(reg, Bill)); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{
		Propagators: []header.Propagator{header.Value("tenant", tenant{})},
	})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(context.WithValue(ctx, tenant{}, "acme"), c, Order, 250)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: acme pays 250, header map[tenant:acme] <nil>
}

func TestValue(t *testing.T) {
	t.Parallel()
	p := header.Value("tenant", tenant{})
	for in, want := range map[any]string{"acme": "acme", "": "", 7: "", nil: ""} {
		h := header.Map{}
		p.Inject(context.WithValue(t.Context(), tenant{}, in), h)
		if h["tenant"] != want || (want == "" && len(h) > 0) {
			t.Errorf("%v became %v", in, h)
		}
		ctx := p.Extract(t.Context(), h)
		if got, _ := ctx.Value(tenant{}).(string); got != want {
			t.Errorf("%v came back as %q", in, got)
		}
	}
	outer := context.WithValue(t.Context(), tenant{}, "outer")
	if got := p.Extract(outer, header.Map{}).Value(tenant{}); got != "outer" {
		t.Errorf("an empty header replaced the context's value by %v", got)
	}
}
