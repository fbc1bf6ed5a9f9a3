package prometheus_test

import (
	"context"
	"log"
	"net/http"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/perdure/perdure/metrics/prometheus"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func Checkout(_ *orchestration.Context, order string) (string, error) { return order, nil }

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Checkout); err != nil {
		log.Panic(err)
	}
	observer := prometheus.New(prometheus.Options{})
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Observer: observer})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	registry := prom.NewRegistry()
	registry.MustRegister(observer)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	// Output:
}
