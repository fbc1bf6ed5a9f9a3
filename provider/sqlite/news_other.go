//go:build !linux

package sqlite

import "errors"

// news would report the next write to the log. Here it is unsupported, and the writer looks for itself.
type news struct{}

func openNews(string, func()) (*news, error) { return nil, errors.ErrUnsupported }

func (*news) awaited() bool { return false }
func (*news) await() error  { return nil }
func (*news) heard() bool   { return false }
func (*news) close() error  { return nil }
