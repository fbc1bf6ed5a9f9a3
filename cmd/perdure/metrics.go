package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/metrics/prometheus"
	"github.com/perdure/perdure/operate"
)

const (
	// figuresTime is how long a scrape may be old.
	figuresTime = 15 * time.Second
	// figuresLimit bounds how long reading them may take.
	figuresLimit = 10 * time.Second
)

// scraped serves what a collector has.
func scraped(of prom.Collector) http.Handler {
	registry := prom.NewRegistry()
	registry.MustRegister(of)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// storeMetrics serves the gauges of a store to a process without a node. It reads the store when it is scraped, at most every 15 seconds. One of
// many concurrent scrapes reads.
type storeMetrics struct {
	client *client.Client
	logger *slog.Logger
	turn   chan struct{} // held by the scrape that reads or looks

	page http.Handler // nil: none yet
	at   time.Time
}

func newStoreMetrics(c *client.Client, logger *slog.Logger) *storeMetrics {
	return &storeMetrics{client: c, logger: logger, turn: make(chan struct{}, 1)}
}

// ServeHTTP implements http.Handler. A store that cannot be read is an error, so that nobody takes old figures for new ones.
func (m *storeMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := m.current(r.Context())
	if err != nil {
		m.logger.WarnContext(r.Context(), "the state of the store cannot be read for metrics", "error", err)
		http.Error(w, "the state of the store cannot be read: the log of the dashboard says why", http.StatusServiceUnavailable)
		return
	}
	page.ServeHTTP(w, r)
}

// current returns the page, made anew if it is old.
func (m *storeMetrics) current(ctx context.Context) (http.Handler, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if m.page != nil && time.Since(m.at) < figuresTime {
		return m.page, nil
	}
	ctx, cancel := context.WithTimeout(ctx, figuresLimit)
	defer cancel()
	figures, err := operate.New(m.client).StoreFigures(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := operate.New(m.client).Nodes(ctx)
	if err != nil {
		return nil, err
	}
	o := prometheus.New(prometheus.Options{Names: namesOf(nodes), Logger: slog.New(slog.DiscardHandler)})
	o.Store(figures)
	m.page, m.at = scraped(o), time.Now()
	return m.page, nil
}

// namesOf returns the names that nodes have registered. All others are "_other", as with a node.
func namesOf(nodes []operate.NodeInfo) (names []string) {
	for i := range nodes {
		for _, o := range nodes[i].Orchestrations {
			names = append(names, o.Name)
		}
		for _, q := range nodes[i].Queues {
			names = append(append(names, q.Queue), q.Activities...)
		}
	}
	return names
}
