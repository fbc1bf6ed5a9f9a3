// Package runtime is for running orchestrations and activities inside a service. A
// [Registry] lists the functions that this node can run, and a [Runtime] runs them on a
// store until Shutdown.
//
//	reg := runtime.NewRegistry()
//	runtime.AddOrchestration(reg, Checkout)
//	runtime.AddActivity(reg, Charge)
//	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
//	defer rt.Shutdown(ctx)
//
// Work is started and observed with package client, which does not need a runtime. Many
// runtimes, in one process or on many machines, may share a store.
package runtime
