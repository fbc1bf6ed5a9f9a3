// Package pending tests activities that end later than their functions: on every store, by token, across restarts and
// kill -9, and a thousand at the same time.
package pending
