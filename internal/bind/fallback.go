package bind

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
)

// fallbackPatch is the ID of the patch that marks the executions which a fallback has begun.
const fallbackPatch = reserved.NamePrefix + "fallback"

// OrchestrationFallback is Orchestration for a function that runs orchestrations of many names. An execution that other code has begun has no
// marker of it: its turn is given back, for a node that has registered the name.
func OrchestrationFallback[C any, P Holder[C]](
	fn func(ctx P, name string, input json.RawMessage) (json.RawMessage, error),
) func(name string) replay.Body {
	return func(name string) replay.Body {
		body := Orchestration(func(ctx P, input json.RawMessage) (json.RawMessage, error) { return fn(ctx, name, input) })
		return func(s *replay.Scope) replay.Result {
			if !s.Patched(fallbackPatch) {
				s.Fail(fmt.Errorf("running %q by a fallback: %w", name, replay.ErrBegunElsewhere))
			}
			return body(s)
		}
	}
}

// ActivityFallback is Activity for a function that runs activities of many names.
func ActivityFallback(fn func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error)) func(name string) ActivityFunc {
	return func(name string) ActivityFunc {
		return Activity(func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) { return fn(ctx, name, input) })
	}
}
