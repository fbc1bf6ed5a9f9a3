package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
)

// runEvents is W6.
func runEvents(ctx context.Context, n *Node, s Size) (Result, error) {
	h, err := client.Start(ctx, n.Client, Gather, s.N)
	if err != nil {
		return Result{}, fmt.Errorf("starting an orchestration: %w", err)
	}
	took := make([]time.Duration, s.N)
	began := time.Now()
	err = together(ctx, s.Starters, s.N, func(ctx context.Context, i int) error {
		begun := time.Now()
		err := send(ctx, h, reply(0))
		took[i] = time.Since(begun)
		return err
	})
	if err == nil {
		_, err = finish(ctx, h)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Done: s.N, Steps: s.N + 1, Took: time.Since(began), Latencies: took}, nil
}

// fullPause is the pause of a sender before it retries on a full inbox.
const fullPause = 10 * time.Millisecond

// send raises an event. It waits while the inbox is full.
func send(ctx context.Context, h client.Handle[int], event Reply) error {
	for {
		err := h.Raise(ctx, mailbox, event)
		if err == nil {
			return nil
		}
		if !errors.Is(err, client.ErrInboxFull) {
			return fmt.Errorf("sending an event: %w", err)
		}
		if err := await(ctx, time.Now().Add(fullPause), false); err != nil {
			return err
		}
	}
}
