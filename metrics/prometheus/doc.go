// Package prometheus makes metrics for Prometheus of what nodes and clients do. An [Observer] is the option Observer of a runtime and
// a collector for a registry:
//
//	o := prometheus.New(prometheus.Options{})
//	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Observer: o})
//	registry.MustRegister(o)
//
// The page docs/reference/metrics.md lists the metrics. A scrape reads memory only. The gauges of the store are refreshed every
// 15 seconds by one node of all that share it, so that their sum over nodes is right. A process without a node has none of the gauges of nodes.
//
// Labels have few values: names that are registered on a node of the process, and words of a fixed list. All other names are "_other".
package prometheus
