// Package features tests what Temporal's list of features demands of activities, under the names of that list; see
// docs/reference/acceptance.md.
//
// The package has tests only and no API.
package features
