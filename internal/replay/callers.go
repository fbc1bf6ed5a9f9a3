package replay

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// NoteCallers makes the execution keep the callers of each call that blocks, for the query "stack". It must be called
// before Replay. It costs too much for executions that are cached.
func (x *Execution) NoteCallers() { x.sched.callers = make(map[*coroutine][]uintptr) }

// maxFrames bounds the callers that are kept of a coroutine.
const maxFrames = 64

// note keeps the callers of a coroutine that is going to block.
func (s *scheduler) note(co *coroutine) {
	if s.callers == nil {
		return
	}
	var pcs [maxFrames]uintptr
	s.callers[co] = slices.Clone(pcs[:runtime.Callers(2, pcs[:])])
}

// stacks says where the coroutines wait, one paragraph for each.
func (s *scheduler) stacks() string {
	var text strings.Builder
	for i, co := range s.coroutines {
		if co.done {
			continue
		}
		fmt.Fprintf(&text, "coroutine %d:\n", i+1)
		for frames := runtime.CallersFrames(s.callers[co]); ; {
			frame, more := frames.Next()
			if ofCode(&frame) {
				fmt.Fprintf(&text, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
			}
			if !more {
				break
			}
		}
	}
	return text.String()
}
