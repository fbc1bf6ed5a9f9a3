package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
)

// Query asks an instance twice: in the ordinary way, maybe from the cache, and from an execution that is rebuilt from the history. The
// test fails unless both answer alike, as they do of an instance that rests.
func Query[Out, T any](e *Engine, h client.Handle[T], name string, in any, opts ...client.QueryOption) (Out, error) {
	e.T.Helper()
	for {
		before := e.Get(h.Key()).Version
		got, err := client.Query[json.RawMessage](e.T.Context(), h, name, in, opts...)
		cold, coldErr := client.Query[json.RawMessage](fastpath.Without(e.T.Context(), fastpath.Cache), h, name, in, opts...)
		if e.Get(h.Key()).Version != before {
			continue // a turn was stored in between
		}
		if !bytes.Equal(got, cold) || (err == nil) != (coldErr == nil) {
			e.T.Errorf("query %q: %s, %v; from the history: %s, %v", name, got, err, cold, coldErr)
		}
		var out Out
		if bad := json.Unmarshal(got, &out); err == nil && bad != nil {
			e.T.Fatalf("answer of %q: %v", name, bad)
		}
		return out, err
	}
}

// Replays demands that the stored history of an instance replays with the code of the nodes. A query that changes variables of the code
// may lead to commands that no replay repeats.
func Replays[T any](e *Engine, h client.Handle[T]) {
	e.T.Helper()
	_, err := client.Query[string](fastpath.Without(e.T.Context(), fastpath.Cache), h, "stack", nil, client.EvenBlocked())
	if errors.Is(err, client.ErrNotReplayed) {
		e.T.Errorf("the history does not replay: %v", err)
	}
}
