//go:build !unix

package sqlite

import "time"

// A turnstile does nothing where there is no flock. SQLite's busy handler decides between processes.
type turnstile struct{}

func openTurnstile(string, time.Duration) (*turnstile, error) { return &turnstile{}, nil }

func (*turnstile) enter(...<-chan struct{}) error { return nil }

func (*turnstile) leave() {}

func (*turnstile) close() {}
