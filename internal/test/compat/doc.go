// Package compat checks that a newer release opens, migrates and finishes the stores of older ones.
//
// For each step of the project, testdata holds a small SQLite store with instances in the middle of their work, and
// their readable histories. The code of the orchestrations is in this package and never changes after its store was
// recorded.
//
// The package has tests only and no API.
package compat
