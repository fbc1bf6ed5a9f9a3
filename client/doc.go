// Package client starts, observes and steers instances of orchestrations. What a fleet needs, such as acts on many instances, is in package
// operate.
//
// A [Client] talks only to a store. It may live in the process that runs the orchestrations
// or in any other that can open the same store. [Start] returns a typed [Handle]. Programs
// without the Go types, such as a command line, use the methods of Client with an instance's
// ID.
//
//	c, err := client.New(store, client.Options{}) // or rt.Client in the process of a node
//	h, err := client.Start(ctx, c, Checkout, order, client.WithID("order-42"))
//	err = h.Raise(ctx, "approval", Approval{By: "ann"})
//	receipt, err := h.Wait(ctx)
//
// # IDs and keys
//
// An instance has an ID, which the caller may choose, and a key, which is never used
// again. An ID may name another instance later, by [ReplaceEnded] or after a deletion. A
// Handle holds the key, so it never means the successor. A method of Client finds the
// instance that the ID names now, and stays with it.
//
// # Errors
//
// Every error names the call and the instance, and says how to mend it. Compare with
// errors.Is and the sentinels of this package. A call that fails in the storage is repeated
// until it succeeds, the context is finished or [Options].CallTimeout has passed. All repeats
// carry one request ID, so that nothing is stored or handled twice. If the last one fails
// and one may have been stored, the error is [ErrOutcomeUnknown].
//
// # Concurrency
//
// Many goroutines may use a Client and a Handle at once. They start none and need
// not be closed.
package client
