//go:build !linux

package sqlite

import "errors"

// A logWatcher would report the next write to the log. Here it is unsupported, and the writer polls.
type logWatcher struct{}

func openLogWatcher(string, func()) (*logWatcher, error) { return nil, errors.ErrUnsupported }

func (*logWatcher) isArmed() bool     { return false }
func (*logWatcher) arm() error        { return nil }
func (*logWatcher) takeWritten() bool { return false }
func (*logWatcher) close() error      { return nil }
