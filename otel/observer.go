package otel

import (
	"context"
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// ErrInvalid means that an option is missing or not allowed. It is the ErrInvalid of the other packages.
var ErrInvalid = provider.ErrInvalid

// Options are the settings of an Observer. TracerProvider is required.
type Options struct {
	// TracerProvider makes the tracer, and decides what is sampled and exported. Shut it down after the runtime.
	TracerProvider trace.TracerProvider
	// Propagator carries the context of a call of the client; default: propagation.TraceContext, the headers of W3C. It may use the keys
	// "traceparent", "tracestate" and "baggage".
	Propagator propagation.TextMapPropagator
	// TurnSpans makes a span for each turn, besides those of package perdure.
	TurnSpans bool
}

// Observer makes spans. It is an [observe.Tracer]. Make it with [New]. Several nodes and clients may have it, and many goroutines may
// use it at once.
type Observer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	turns      bool
}

var _ observe.Tracer = (*Observer)(nil)

// New makes an Observer. Without a TracerProvider it returns ErrInvalid.
func New(o Options) (*Observer, error) {
	if o.TracerProvider == nil {
		return nil, fmt.Errorf("making an observer: %w: TracerProvider is nil: give one, such as that of the SDK", ErrInvalid)
	}
	if o.Propagator == nil {
		o.Propagator = propagation.TraceContext{}
	}
	return &Observer{
		tracer: o.TracerProvider.Tracer("github.com/perdure/perdure/otel"), propagator: o.Propagator, turns: o.TurnSpans,
	}, nil
}

// Send implements [observe.Tracer].
func (o *Observer) Send(ctx context.Context, s observe.Sending) (header map[string]string, end func(error)) {
	name, attrs := "cancel", []attribute.KeyValue{attribute.String("perdure.instance.id", s.Instance)}
	switch s.Kind {
	case "start":
		name = "start " + s.Orchestration
		attrs = append(attrs, attribute.String("perdure.orchestration", s.Orchestration))
	case "event":
		name = "raise " + s.Name
	case "update":
		name = "update " + s.Name
	}
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attrs...))
	all := propagation.MapCarrier{}
	o.propagator.Inject(ctx, all)
	header = make(map[string]string, len(all))
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		if value := all[key]; value != "" {
			header[key] = value
		}
	}
	return header, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "") // the text may hold data of users
		}
		span.End()
	}
}

// Anchor implements [observe.Tracer].
//
//nolint:spancheck // whoever stores the turn ends it
func (o *Observer) Anchor(a observe.Anchoring) observe.Span {
	opts := []trace.SpanStartOption{
		trace.WithTimestamp(a.At), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(execution(a.Instance, a.Key, a.Execution, a.Orchestration, a.Version)...),
	}
	ctx := o.parent(nowhere(), a.Parent, a.Header)
	if a.Before != "" {
		ctx = nowhere()
		opts = append(opts, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: read(a.Before)}))
	}
	_, span := o.tracer.Start(ctx, "run "+a.Orchestration, opts...)
	return ends(span, func(observe.Event) {})
}

// Attempt implements [observe.Tracer].
//
//nolint:spancheck // whoever stores the outcome ends it
func (o *Observer) Attempt(ctx context.Context, a observe.Trying) (context.Context, observe.Span) {
	attrs := append(execution(a.Instance, a.Key, a.Execution, a.Orchestration, ""),
		attribute.String("perdure.activity", a.Activity), attribute.String("perdure.queue", a.Queue), attribute.Int64("perdure.attempt", a.Attempt),
		attribute.Bool("perdure.local", a.Local))
	if a.EventID != 0 {
		attrs = append(attrs, attribute.Int64("perdure.event.id", a.EventID))
	}
	opts := []trace.SpanStartOption{trace.WithTimestamp(a.At), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attrs...)}
	if before := read(a.Before); before.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	ctx, span := o.tracer.Start(o.parent(ctx, a.Parent, a.Header), "activity "+a.Activity, opts...)
	return ctx, ends(span, func(e observe.Event) {
		span.SetAttributes(attribute.String("perdure.outcome", string(e.Outcome)))
		if e.Outcome == observe.Failed || e.Outcome == observe.TimedOut {
			span.SetStatus(codes.Error, "")
		}
	})
}

// ends returns a span that others see, and that ends after its last attributes are set.
func ends(span trace.Span, last func(observe.Event)) observe.Span {
	of := write(span.SpanContext())
	if of == "" {
		return observe.Span{}
	}
	return observe.Span{Context: of, End: func(e observe.Event) {
		last(e)
		span.End(trace.WithTimestamp(e.At))
	}}
}

// Observe implements [observe.Observer].
func (o *Observer) Observe(e observe.Event) {
	switch e.Kind { //nolint:exhaustive // the others make no spans
	case observe.Handled:
		name := e.Name
		if e.Source == observe.FromCancel {
			name = "cancel"
		}
		from := trace.SpanContextFromContext(o.parent(nowhere(), e.From["perdure.trace"], e.From))
		o.moment(&e, "handle "+name, nil, from)
	case observe.Ended:
		o.moment(&e, "end "+e.Orchestration, func(span trace.Span) {
			span.SetAttributes(attribute.String("perdure.outcome", string(e.Outcome)), attribute.Int64("perdure.events", e.Count),
				attribute.Float64("perdure.duration", e.Took.Seconds()))
			if e.Outcome == observe.Failed {
				span.SetStatus(codes.Error, "")
			}
		})
	case observe.Blocked:
		_, span := o.tracer.Start(nowhere(), "blocked "+e.Orchestration, trace.WithNewRoot(), trace.WithTimestamp(e.At),
			trace.WithAttributes(append(of(&e), attribute.String("perdure.reason", e.Reason))...))
		span.SetStatus(codes.Error, "")
		span.End(trace.WithTimestamp(e.At))
	case observe.Turn:
		if o.turns && e.Took != observe.NoTime {
			began := e
			began.At = e.At.Add(-e.Took)
			o.moment(&began, "turn "+e.Orchestration, func(span trace.Span) {
				span.SetAttributes(attribute.String("perdure.outcome", string(e.Outcome)), attribute.String("perdure.source", e.Source))
				span.End(trace.WithTimestamp(e.At))
			})
		}
	}
}

// moment makes a short span as a child of the anchor, if there is one.
func (o *Observer) moment(e *observe.Event, name string, last func(trace.Span), links ...trace.SpanContext) {
	parent := read(e.Trace)
	if !parent.IsValid() {
		return
	}
	opts := []trace.SpanStartOption{trace.WithTimestamp(e.At), trace.WithAttributes(of(e)...)}
	for _, to := range links {
		if to.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: to}))
		}
	}
	_, span := o.tracer.Start(trace.ContextWithRemoteSpanContext(nowhere(), parent), name, opts...)
	if last != nil {
		last(span)
	}
	span.End(trace.WithTimestamp(e.At)) // without effect on one that has ended
}

// of returns the attributes of an event's execution.
func of(e *observe.Event) []attribute.KeyValue {
	return execution(e.Instance, e.Key, e.Execution, e.Orchestration, e.Version)
}

// execution returns the attributes of an execution.
func execution(id string, key [16]byte, number int64, name, version string) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		attribute.String("perdure.instance.id", id), attribute.String("perdure.instance.key", text(key)),
		attribute.Int64("perdure.execution", number), attribute.String("perdure.orchestration", name),
	}
	if version != "" {
		attrs = append(attrs, attribute.String("perdure.version", version))
	}
	return attrs
}

// text returns a key in the form of a UUID.
func text(key [16]byte) string {
	h := hex.EncodeToString(key[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
