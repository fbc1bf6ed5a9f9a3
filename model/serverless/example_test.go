package serverless_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/model/serverless"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Order is the input of the document testdata/order.yaml.
type Order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

// Receipt is what Charge returns.
type Receipt struct {
	Receipt string `json:"receipt"`
}

// Charge is the activity that the document calls.
func Charge(_ context.Context, o Order) (Receipt, error) {
	if o.Cents > 10_000 {
		return Receipt{}, &serverless.Fault{Type: "https://shop.example/errors/refused", Status: 402, Title: "the card was refused"}
	}
	return Receipt{Receipt: "r-" + o.ID}, nil
}

// A service registers the interpreter beside its activities, reads a document, and starts instances of it.
func Example() {
	ctx, store := context.Background(), memory.New(memory.Options{})
	text, err := os.ReadFile("testdata/order.yaml")
	if err != nil {
		log.Fatal(err)
	}
	doc, err := serverless.Parse(text)
	if err != nil {
		log.Fatal(err) // each finding with its line and column
	}
	reg := runtime.NewRegistry()
	if err := errors.Join(serverless.Register(reg), runtime.AddActivity(reg, Charge)); err != nil {
		log.Fatal(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, order := range []Order{{ID: "17", Cents: 500}, {ID: "18", Cents: 50_000}} {
		h, err := serverless.Start(ctx, c, doc, order, client.WithID("order-"+order.ID))
		if err != nil {
			log.Fatal(err)
		}
		out, err := h.Wait(ctx)
		fmt.Println(string(out), err)
	}
	if err := rt.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"receipt":"r-17","state":"sent"} <nil>
	// {"state":"refused"} <nil>
}
