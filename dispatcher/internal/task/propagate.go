package task

import (
	"context"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/propagate"
)

// extract returns the context of the user's function with what the node's propagators take from the header.
func (w *Worker) extract(ctx context.Context, a *Attempt) context.Context {
	return propagate.Extract(ctx, w.Config.Propagators, history.DecodeCaller(a.Caller).Header, func(err error) {
		w.Count.PropagatorsFailed.Add(1)
		w.Config.Logger.Warn("propagator failed", "activity", a.Call.Name, "instance", a.instanceID, "err", err)
	})
}
