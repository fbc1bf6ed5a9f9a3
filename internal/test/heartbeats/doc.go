// Package heartbeats tests what running attempts report and what is known of ended ones: heartbeats, their throttle and
// timeout, retries, and the list of attempts.
//
// The package has tests only and no API.
package heartbeats
