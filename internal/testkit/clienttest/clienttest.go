// Package clienttest makes clients for tests.
package clienttest

import (
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// New makes a client of a store. The test fails if the client refuses its options.
func New(t testing.TB, store provider.Provider, opts client.Options) *client.Client {
	t.Helper()
	c, err := client.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Maker is a node that makes clients of its store.
type Maker interface {
	Client(opts client.Options) (*client.Client, error)
}

// Of returns a client that starts instances through a node of this process.
func Of(t testing.TB, node Maker, opts client.Options) *client.Client {
	t.Helper()
	c, err := node.Client(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
