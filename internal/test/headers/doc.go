// Package headers tests headers and propagators through the engine, on all stores.
package headers
