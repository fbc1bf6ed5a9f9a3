// Package aliased has an example that uses package orchestration without importing it.
package aliased
