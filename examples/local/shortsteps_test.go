package local_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	start "github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/local"
	"github.com/perdure/perdure/runtime"
)

func shop() (*client.Client, func()) {
	return start.Start(func(reg *runtime.Registry) {
		if err := local.Register(reg, &local.Shop{Prices: map[string]int{"tea": 4, "pot": 20}}); err != nil {
			log.Panic(err)
		}
	})
}

func ExampleCheckout() {
	ctx := context.Background()
	c, stop := shop()
	defer stop()

	h, err := client.Start(ctx, c, local.Checkout, local.Order{Articles: []string{"tea", "tea", "pot"}, Address: " 1 High Street "})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// shipped to 1 HIGH STREET for 28 <nil>
}

func ExampleOffers() {
	ctx := context.Background()
	c, stop := shop()
	defer stop()

	for _, articles := range [][]string{{"tea", "pot"}, {"tea", "cup"}} {
		h, err := client.Start(ctx, c, local.Offers, articles)
		if err != nil {
			log.Panic(err)
		}
		prices, err := h.Wait(ctx)
		fmt.Println(prices, errors.Is(err, local.ErrUnknown))
	}
	// Output:
	// [4 20] false
	// [] true
}
