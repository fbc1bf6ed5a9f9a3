// Package routing tests where and when activities run: time limits, order, rates, limits of queues across all nodes,
// and sessions, on every store.
//
// The package has tests only and no API.
package routing
