// Package features tests what Temporal's list of features demands of activities, and what the design of an SDK for coroutines
// demands of orchestrations, under the names of those lists; see docs/reference/acceptance.md.
//
// The package has tests only and no API.
package features
