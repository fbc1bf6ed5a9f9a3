package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/shop/helper"
	"github.com/google/uuid"
	"github.com/perdure/perdure/orchestration"
)

// An activity may do anything.
func charge(ctx context.Context, o order) (string, error) {
	served++
	done := make(chan string, 1)
	go func() { done <- uuid.NewString() + time.Now().String() + os.Getenv("REGION") }()
	select {
	case id := <-done:
		return id, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func clean(ctx *orchestration.Context, o order) (string, error) {
	o.At = ctx.Now()
	deadline := o.At.Add(48 * time.Hour).Truncate(time.Hour)
	if err := ctx.Sleep(deadline.Sub(ctx.Now())); err != nil {
		return "", err
	}
	seeded := rand.New(rand.NewPCG(1, 2)) // the same each time
	order := seeded.Perm(3)
	slices.SortFunc(order, func(a, b int) int { return b - a })
	region, err := orchestration.SideEffect(ctx, func() (string, error) { return os.Getenv("REGION"), nil })
	if err != nil {
		return "", err
	}
	id, err := orchestration.SideEffect(ctx, uuid.NewRandom)
	if err != nil {
		return "", err
	}
	ctx.Logger().Info(fmt.Sprintf("%s %v", region, id))
	parts := map[string]int{}
	parts[region] = served // it only reads the package variable
	helper.Later()
	helper.Lookup(region)
	helper.Recursive(3)
	helper.Silent()
	work := ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(time.Minute) })
	if _, err := work.Get(ctx); err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, charge, o)
}

// No orchestration code: a test, a handler of HTTP, or whatever.
func elsewhere() string {
	lines := make(chan string, 1)
	go func() { lines <- time.Now().String() }()
	return strings.ToUpper(<-lines)
}

// An activity that stands in the function that registers both.
func register() (orchestrations, activities any) {
	inline := func(ctx context.Context, o order) (string, error) { return time.Now().String(), nil }
	return func(ctx *orchestration.Context, o order) (string, error) {
		nested := func(ctx context.Context, o order) (string, error) { return time.Now().String(), nil }
		return orchestration.CallActivity(ctx, orchestration1(nested), o)
	}, inline
}

func orchestration1(fn func(context.Context, order) (string, error)) func(context.Context, order) (string, error) {
	return fn
}
