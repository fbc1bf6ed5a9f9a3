package model

import (
	"fmt"
	"strings"
)

// A story is the log of a sequence, one call a line, and the first difference.
type story struct {
	lines   []string
	differs string
}

func (s *story) linef(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// differf notes a difference unless there is one already.
func (s *story) differf(format string, args ...any) {
	if s.differs == "" {
		s.differs = fmt.Sprintf(format, args...)
	}
}

// failed notes an error, which is a difference.
func (s *story) failed(err error) {
	if err != nil {
		s.differf("%v", err)
	}
}

func (s *story) String() string {
	var b strings.Builder
	for i, line := range s.lines {
		fmt.Fprintf(&b, "\n%2d  %s", i+1, line)
	}
	return b.String() + "\n" + s.differs
}
