//go:build !linux

package alarm

import "errors"

func newExact(func()) (Alarm, error) { return nil, errors.ErrUnsupported }
