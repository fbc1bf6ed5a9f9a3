package observing

import (
	"context"
	"strings"

	"github.com/perdure/perdure/observe"
)

// maxContext bounds the context of a span, in bytes.
const maxContext = 640

// Send begins the span of a message. end is never nil.
func (h *Hub) Send(ctx context.Context, s observe.Sending) (header map[string]string, end func(error)) {
	if !h.Traces() {
		return nil, func(error) {}
	}
	header, done := h.send(ctx, s)
	return header, func(err error) {
		defer h.recovered()
		if done != nil {
			done(err)
		}
	}
}

func (h *Hub) send(ctx context.Context, s observe.Sending) (header map[string]string, end func(error)) {
	defer h.recovered()
	return h.tracer.Send(ctx, s)
}

// Anchor begins an anchor. The span has no context if there is none.
func (h *Hub) Anchor(a observe.Anchoring) (s observe.Span) {
	if !h.Traces() {
		return s
	}
	defer h.recovered()
	s = h.tracer.Anchor(a)
	if len(s.Context) > maxContext || strings.ContainsAny(s.Context, "\x00\n") {
		return observe.Span{}
	}
	return s
}

// Attempt begins the span of an attempt. The context is that of its code.
func (h *Hub) Attempt(ctx context.Context, a observe.Trying) (with context.Context, s observe.Span) {
	if !h.Traces() {
		return ctx, s
	}
	if with, s = h.attempt(ctx, a); with == nil {
		return ctx, observe.Span{}
	}
	return with, s
}

func (h *Hub) attempt(ctx context.Context, a observe.Trying) (with context.Context, s observe.Span) {
	defer h.recovered()
	return h.tracer.Attempt(ctx, a)
}
