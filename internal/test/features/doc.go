// Package features holds tests of what Temporal's list of features asks of activities, under the names of that list; see
// docs/reference/acceptance.md.
//
// It is a package of tests and has no API.
package features
