// Package compat keeps the promise that a newer release opens, migrates and finishes what
// an older one stored. testdata holds, for each step of the project, a small SQLite store
// with instances in the middle of their work, and their histories in readable form. The
// code of the orchestrations stands here and is never changed once its store is recorded.
//
// It is a package of tests and has no API.
package compat
