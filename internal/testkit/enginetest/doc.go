// Package enginetest runs the engine for tests: a store, the nodes on it, and the calls of a client, in terms of the
// storage.
//
// It bypasses package client on purpose. A test of the engine then fails only because of the engine, and can make calls
// that no client makes.
package enginetest
