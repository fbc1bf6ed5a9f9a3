package main

import (
	"testing"
	"time"

	"github.com/perdure/perdure/orchestrationtest"
)

func TestSell(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, Reserve)
		orchestrationtest.AddActivity(e, Ship)
		charges := orchestrationtest.Replace(e, Charge, nil)
		h := orchestrationtest.Start(e, Sell, Order{Item: "lamp", Cents: 4200})
		e.After(23*time.Hour, func() error { return h.Raise(e.Context(), "approval", Approval{By: "ann"}) })
		if r, err := h.Wait(e.Context()); r.Parcel != "parcel 99" || err != nil || len(charges.Calls()) != 1 {
			t.Errorf("%+v, %v, %+v", r, err, charges.Calls())
		}
	})
}
