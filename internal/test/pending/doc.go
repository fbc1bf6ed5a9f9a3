// Package pending tests activities that end later than their functions. They end by token, on every store, after
// restarts and kill -9. A thousand wait at the same time.
package pending
