// Package runtime embeds the engine in a service: a registry of what this node can run,
// and a [Runtime] that runs it on a store until Shutdown.
//
//	reg := runtime.NewRegistry()
//	runtime.AddOrchestration(reg, Checkout)
//	runtime.AddActivity(reg, Charge)
//	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
//	defer rt.Shutdown(ctx)
//
// It is not where work is started or observed: that is package client, which needs no
// runtime. Many runtimes, in one process or on many machines, may share a store.
package runtime
