package client_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

type (
	order   = clienttest.Order
	receipt = clienttest.Receipt
)

// Checkout is clienttest.Checkout.
func Checkout(ctx *orchestration.Context, in order) (receipt, error) {
	return clienttest.Checkout(ctx, in)
}

// world is a clienttest.World with what only the tests of this package need.
type world struct {
	*clienttest.World

	t     *testing.T
	store *memory.Provider
	plan  *faulty.Plan
}

func newWorld(t *testing.T, opts client.Options) *world {
	t.Helper()
	w := clienttest.NewWorld(t, opts)
	return &world{World: w, t: t, store: w.Store, plan: w.Plan}
}

func want(t *testing.T, err error, text string, sentinels ...error) {
	t.Helper()
	clienttest.Want(t, err, text, sentinels...)
}

// hidden is a store that only has the methods of the contract.
type hidden struct{ *provider.Full }

// creates counts calls of Create.
type creates struct {
	hidden

	requests []provider.CreateRequest
}

func (c *creates) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	c.requests = append(c.requests, req)
	return c.Provider.Create(ctx, req)
}
