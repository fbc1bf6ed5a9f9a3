// Package heartbeats tests what attempts of activities tell while they run and what is known of them when they have
// ended: heartbeats, their throttle and timeout, retries, the list of attempts.
//
// It is a package of tests and has no API.
package heartbeats
