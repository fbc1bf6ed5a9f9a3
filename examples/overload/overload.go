// Package overload shows a service that rejects work when its nodes fall behind.
package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Options rejects starts while 400 turns and activities wait for nodes.
func Options() client.Options {
	return client.Options{MaxBacklog: 400}
}

// Charge charges for an order.
func Charge(_ context.Context, order string) (string, error) { return "paid " + order, nil }

// Checkout runs for each order.
func Checkout(ctx *orchestration.Context, order string) (string, error) {
	return orchestration.CallActivity(ctx, Charge, order)
}

// Order starts a checkout, or tells the client when to retry.
func Order(c *client.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		order := r.FormValue("order")
		_, err := client.Start(r.Context(), c, Checkout, order,
			client.WithID("order/"+order), client.WithIDPolicy(client.UseExisting), client.WithOverload(client.Refuse))
		full, overloaded := errors.AsType[*client.OverloadedError](err)
		switch {
		case err == nil:
			w.WriteHeader(http.StatusAccepted)
		case overloaded:
			w.Header().Set("Retry-After", seconds(full.RetryAfter))
			http.Error(w, "too much to do, come again", http.StatusServiceUnavailable)
		default:
			http.Error(w, "the order was not taken", http.StatusInternalServerError)
		}
	}
}

// seconds rounds up, since the Retry-After header takes whole seconds.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// Import starts a checkout for each order of a file, as fast as the nodes can take them.
func Import(ctx context.Context, c *client.Client, orders []string) error {
	for _, order := range orders {
		if _, err := client.Start(ctx, c, Checkout, order,
			client.WithID("order/"+order), client.WithIDPolicy(client.UseExisting)); err != nil {
			return fmt.Errorf("order %s: %w", order, err)
		}
	}
	return nil
}

// Urgent starts a checkout whatever the backlog.
func Urgent(ctx context.Context, c *client.Client, order string) error {
	_, err := client.Start(ctx, c, Checkout, order, client.WithOverload(client.Admit))
	return err
}
