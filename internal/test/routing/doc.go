// Package routing holds tests of which activity runs where and when: limits of time, order, rates, limits of queues on all
// nodes together, and sessions, on every store.
//
// It is no part of the product.
package routing
