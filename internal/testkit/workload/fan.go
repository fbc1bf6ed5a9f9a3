package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
)

// blades is the number of parallel activities of a W2b orchestration.
const blades = 50

// runFan is W2a.
func runFan(ctx context.Context, n *Node, s Size) (Result, error) {
	began := time.Now()
	if err := fanOut(ctx, n, Load{N: s.N}); err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	return Result{Done: s.N, Steps: s.N + 1, Took: took, Latencies: []time.Duration{took}}, nil
}

// runFans is W2b. All orchestrations start at once.
func runFans(ctx context.Context, n *Node, s Size) (Result, error) {
	took := make([]time.Duration, s.N)
	began := time.Now()
	err := atOnce(ctx, s.N, func(ctx context.Context, i int) error {
		begun := time.Now()
		err := fanOut(ctx, n, Load{N: blades})
		took[i] = time.Since(begun)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Done: s.N, Steps: s.N * (blades + 1), Took: time.Since(began), Latencies: took}, nil
}

func fanOut(ctx context.Context, n *Node, load Load) error {
	h, err := client.Start(ctx, n.Client, Fan, load)
	if err != nil {
		return fmt.Errorf("starting an orchestration: %w", err)
	}
	_, err = finish(ctx, h)
	return err
}
