//go:build !unix

package sqlite

import "time"

// A turnstile does nothing where flock is missing: SQLite's busy handler decides between
// processes, and other processes are always assumed to be there.
type turnstile struct{}

func openTurnstile(string, time.Duration) (*turnstile, error) { return &turnstile{}, nil }

func (*turnstile) enter() error { return nil }

func (*turnstile) vacant() bool { return true }

func (*turnstile) leave() {}

func (*turnstile) alone() bool { return false }

func (*turnstile) close() {}
