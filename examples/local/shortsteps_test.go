package local_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure/examples/local"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) error {
	return local.Register(reg, &local.Shop{Prices: map[string]int{"tea": 4, "pot": 20}})
}

func TestCheckout(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(register)
		order := local.Order{Articles: []string{"tea", "tea", "pot"}, Address: " 1 High Street "}
		out, err := orchestrationtest.Start(e, local.Checkout, order).Wait(e.Context())
		if out != "shipped to 1 HIGH STREET for 28" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestOffers(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(register)
		prices, err := orchestrationtest.Start(e, local.Offers, []string{"tea", "pot"}).Wait(e.Context())
		if !slices.Equal(prices, []int{4, 20}) || err != nil {
			t.Errorf("%v, %v", prices, err)
		}
		_, err = orchestrationtest.Start(e, local.Offers, []string{"tea", "cup"}).Wait(e.Context())
		if !errors.Is(err, local.ErrUnknown) {
			t.Error(err)
		}
	})
}
