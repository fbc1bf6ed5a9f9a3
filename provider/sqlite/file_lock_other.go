//go:build !unix

package sqlite

import "time"

// A fileLock does nothing where there is no flock. SQLite's busy handler decides between processes.
type fileLock struct{}

func openFileLock(string, time.Duration) (*fileLock, error) { return &fileLock{}, nil }

func (*fileLock) lock(...<-chan struct{}) error { return nil }

func (*fileLock) unlock() {}

func (*fileLock) close() {}
