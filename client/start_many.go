package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/orchestration"
)

// manyAtOnce is how many starts of one StartMany are on their way at the same time. A store makes one commit of what comes together.
const manyAtOnce = 64

// ManyStart is one start of StartMany.
type ManyStart[In any] struct {
	Input   In
	Options []StartOption // give WithID and WithRequestID to make it repeatable; InTx is refused
}

// ManyStarted is the result of one start of StartMany: the handle, or why there is none.
type ManyStarted[Out any] struct {
	Handle Handle[Out]
	Err    error // one of those of Start
}

// StartMany starts many instances of an orchestration: 64 at the same time, so that the store puts many into one commit. It returns when
// all are stored or refused, with one result for each start, in their order. One that is refused does not stop the others. When ctx is
// done, those that are left get its error. The order in which instances are created is not that of the list.
//
// A start that is part of a transaction of the caller is refused: use Start for it. If StartMany itself returns an error, which is ErrInvalid, it
// has started nothing.
func StartMany[In, Out any](
	ctx context.Context, c *Client, fn func(*orchestration.Context, In) (Out, error), starts []ManyStart[In],
) ([]ManyStarted[Out], error) {
	ref, err := bind.OrchestrationOf(fn)
	if err == nil {
		err = c.usable(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("starting many orchestrations: %w: %w", ErrInvalid, err)
	}
	return startMany[In, Out](ctx, c, ref.Name, startOptions{version: ref.Version, versioned: true}, starts), nil
}

// StartManyNamed is StartMany for an orchestration that is known by its stored name only. See StartNamed for its version.
func StartManyNamed[Out any](ctx context.Context, c *Client, name string, starts []ManyStart[any]) ([]ManyStarted[Out], error) {
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("starting many orchestrations: %w", err)
	}
	return startMany[any, Out](ctx, c, name, startOptions{}, starts), nil
}

func startMany[In, Out any](ctx context.Context, c *Client, name string, o startOptions, starts []ManyStart[In]) []ManyStarted[Out] {
	results := make([]ManyStarted[Out], len(starts))
	next := make(chan int)
	var all sync.WaitGroup
	for range min(manyAtOnce, len(starts)) {
		all.Go(func() {
			for i := range next {
				results[i] = startOne[In, Out](ctx, c, name, o, &starts[i])
			}
		})
	}
	for i := range starts {
		next <- i
	}
	close(next)
	all.Wait()
	return results
}

func startOne[In, Out any](ctx context.Context, c *Client, name string, o startOptions, s *ManyStart[In]) (r ManyStarted[Out]) {
	o.alone = true
	t, err := c.start(ctx, name, o, s.Input, s.Options)
	if err != nil {
		return ManyStarted[Out]{Err: err}
	}
	return ManyStarted[Out]{Handle: Handle[Out]{c: c, t: t}}
}
