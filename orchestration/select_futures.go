package orchestration

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
)

// SelectFutures is [Select] for futures of one type: it waits until one of them is settled and returns its index, the lowest if there are
// several. It cancels nothing. It returns ctx's error if that scope is cancelled first, and ErrInvalid if there are no futures.
func SelectFutures[T any](ctx *Context, futures []Future[T]) (int, error) {
	scope := ctx.engine()
	if len(futures) == 0 {
		return -1, newError(failure.ErrInvalid, "select of no futures: give one or more")
	}
	sources := make([]replay.Source, len(futures))
	for i, f := range futures {
		sources[i] = f.made()
	}
	return scope.Wait(sources...)
}
