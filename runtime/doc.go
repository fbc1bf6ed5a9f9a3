// Package runtime embeds the engine in a service: a registry of orchestrations and activities,
// and a [Runtime] that runs them on a store until Shutdown.
//
//	reg := runtime.NewRegistry()
//	runtime.AddOrchestration(reg, Checkout)
//	runtime.AddActivity(reg, Charge)
//	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
//	defer rt.Shutdown(ctx)
//
// Package client starts and observes work; it works without a
// runtime. Many runtimes, in one process or on many machines, may share a store.
package runtime
