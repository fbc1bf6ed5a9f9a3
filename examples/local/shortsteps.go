// Package local shows short steps that run inside the turn.
package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Shop knows prices and takes orders.
type Shop struct {
	Prices map[string]int // read only
}

// ErrUnknown means that the shop does not have the article.
var ErrUnknown = errors.New("no such article")

// Price looks up an article. It is short, and running it again does no harm.
func (s *Shop) Price(_ context.Context, article string) (int, error) {
	price, ok := s.Prices[article]
	if !ok {
		return 0, orchestration.NonRetryable(fmt.Errorf("%w: %s", ErrUnknown, article))
	}
	return price, nil
}

// Normalise tidies an address.
func (s *Shop) Normalise(_ context.Context, address string) (string, error) {
	return strings.ToUpper(strings.TrimSpace(address)), nil
}

// Ship gets its own commit, since it must not run again for nothing.
func (s *Shop) Ship(_ context.Context, label string) (string, error) {
	return "shipped to " + label, nil
}

// Order is a customer's order.
type Order struct {
	Articles []string
	Address  string
}

// Checkout can use any number of local steps: they are stored together with the scheduling of Ship.
func Checkout(ctx *orchestration.Context, o Order) (string, error) {
	var s *Shop
	total := 0
	for _, article := range o.Articles {
		price, err := orchestration.CallLocal(ctx, s.Price, article)
		if err != nil {
			return "", err
		}
		total += price
	}
	address, err := orchestration.CallLocal(ctx, s.Normalise, o.Address)
	if err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, s.Ship, fmt.Sprintf("%s for %d", address, total))
}

// Offers looks up all prices at the same time, with three attempts each.
func Offers(ctx *orchestration.Context, articles []string) ([]int, error) {
	var s *Shop
	prices := make([]orchestration.Future[int], len(articles))
	for i, article := range articles {
		prices[i] = orchestration.StartLocal(ctx, s.Price, article,
			orchestration.WithStartToCloseTimeout(200*time.Millisecond),
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 10 * time.Millisecond}),
		)
	}
	return orchestration.All(ctx, prices...)
}

// Register registers local activities like all others. The call makes them local.
func Register(reg *runtime.Registry, s *Shop) error {
	return errors.Join(
		runtime.AddActivity(reg, s.Price),
		runtime.AddActivity(reg, s.Normalise),
		runtime.AddActivity(reg, s.Ship),
		runtime.AddOrchestration(reg, Checkout),
		runtime.AddOrchestration(reg, Offers),
		runtime.AddError(reg, "unknown-article", ErrUnknown),
	)
}
