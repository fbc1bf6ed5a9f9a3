// Package otel makes spans for OpenTelemetry of what nodes and clients do. An [Observer] is the option Observer of a runtime and of
// clients:
//
//	o, err := otel.New(otel.Options{TracerProvider: provider})
//	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Observer: o})
//
// Spans come from confirmed commits, never from replays, and none stays open while an instance waits. The page
// docs/how-to/observe-in-production.md lists them.
//
// It is a module of its own, so that its version of OpenTelemetry is not forced upon those who do not use it. It needs the packages of
// the API only.
package otel
