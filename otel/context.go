package otel

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// nowhere returns a context without a span. Events have no context: their spans are named by what is stored.
func nowhere() context.Context { return context.Background() } //nolint:forbidigo // no caller has one

// write returns the context of a span as others store it: its traceparent, and after a blank its tracestate. It returns "" for none.
func write(of trace.SpanContext) string {
	if !of.IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(nowhere(), of), carrier)
	if state := carrier["tracestate"]; state != "" {
		return carrier["traceparent"] + " " + state
	}
	return carrier["traceparent"]
}

// read returns the context of a span that write returned. It is not valid if that cannot be read.
func read(stored string) trace.SpanContext {
	parent, state, _ := strings.Cut(stored, " ")
	ctx := propagation.TraceContext{}.Extract(nowhere(), propagation.MapCarrier{"traceparent": parent, "tracestate": state})
	return trace.SpanContextFromContext(ctx)
}

// parent returns a context with the span that new ones belong to: the anchor, or the sender whose context is in the header.
func (o *Observer) parent(ctx context.Context, anchor string, header map[string]string) context.Context {
	if of := read(anchor); of.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, of)
	}
	return o.propagator.Extract(ctx, propagation.MapCarrier(header))
}
