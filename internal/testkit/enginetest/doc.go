// Package enginetest runs the engine for tests: a store, the nodes on it, and what a
// client does, in the words of the storage.
//
// It goes past package client on purpose: a test of the engine then fails for the engine's
// reasons only, and can do what no client would.
package enginetest
