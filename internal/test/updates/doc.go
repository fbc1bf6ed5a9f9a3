// Package updates has no code. Its tests check what callers of updates, resets and forks are told, at every stage of an update, by every way to ask, and
// whatever happens to the instance.
package updates
