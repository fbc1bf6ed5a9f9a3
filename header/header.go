// Package header carries facts such as a request ID or a tenant along with the inputs: from the caller of a
// client to the activities that run for it, on whatever nodes.
//
// A header belongs to a start, an event, an update or a request to cancel. That of a start goes along to all activities and children of
// the instance, and to the executions that it continues as. Code of orchestrations cannot read it and nothing that it sees
// depends on it. A header is for what everybody may lose: one that is too large, or that a [Propagator] failed to make, is left
// out, logged and counted.
package header

import "context"

// Map is a header. Keys have 1 to 512 bytes of UTF-8 and do not begin with "perdure.", values are UTF-8, both without NUL. It
// has at most [MaxBytes] as it is stored.
type Map map[string]string

// MaxBytes bounds one header as it is stored: keys and values, with at most 2 bytes for the length of each and 4 bytes for the
// whole. All headers in the history of one execution have at most 1 MiB together. So have all that one turn sends along.
const MaxBytes = 4 << 10

// Propagator moves facts between a context and a header. Many goroutines may call it at once. Give it to the clients and the
// nodes: client.Options.Propagators and runtime.Options.Propagators.
//
// It runs outside of orchestration code, and never on a replay. If a call panics, it has no effect, and is logged and counted;
// see Stats.PropagatorsFailed in package runtime.
type Propagator interface {
	// Inject adds what ctx holds to the header of a start, an event, an update or a request to cancel. It is called once for
	// each of these that a client sends. h is empty; if two propagators set a key, the first one counts, and before it what
	// client.WithHeader gave.
	Inject(ctx context.Context, h Map)
	// Extract returns a context, derived from ctx, with what the header holds. It is called for each attempt of an activity,
	// also if h is empty. h is the propagator's own.
	Extract(ctx context.Context, h Map) context.Context
}

// Value returns a Propagator of one text: under contextKey in a context, and under key in a header. An empty text is not
// carried.
func Value(key string, contextKey any) Propagator { return value{key, contextKey} }

type value struct {
	key        string
	contextKey any
}

// Inject implements Propagator.
func (v value) Inject(ctx context.Context, h Map) {
	if text, _ := ctx.Value(v.contextKey).(string); text != "" {
		h[v.key] = text
	}
}

// Extract implements Propagator.
func (v value) Extract(ctx context.Context, h Map) context.Context {
	if text := h[v.key]; text != "" {
		return context.WithValue(ctx, v.contextKey, text)
	}
	return ctx
}
