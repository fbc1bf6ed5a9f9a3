package replay

import (
	"fmt"
	"runtime"
	"slices"
)

// NoteCallers makes the execution keep the callers of each call that blocks, for the query "stack". It must be called
// before Replay. It costs too much for executions that are cached.
func (x *Execution) NoteCallers() { x.sched.callers = make(map[*coroutine][]uintptr) }

// Stacks says where the coroutines wait, one paragraph for each, after NoteCallers. It must not be called while code runs.
func (v View) Stacks() string { return v.x.sched.stacks() }

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

// maxStacks bounds the text of stacks, in bytes. It fits into an answer, also when it is encoded.
const maxStacks = 1 << 20

// stacks says where the coroutines wait, one paragraph for each. If they do not fit, the last line says how many are missing.
func (s *scheduler) stacks() string {
	var text []byte
	missing := 0
	for i, co := range s.coroutines {
		if co.done || co.over {
			continue
		}
		if missing == 0 {
			end := len(text)
			if text = s.appendStack(text, i, co); len(text) <= maxStacks {
				continue
			}
			text = text[:end]
		}
		missing++
	}
	if missing > 0 {
		text = fmt.Appendf(text, "%d more coroutines wait: at most %d KiB are shown\n", missing, maxStacks>>10)
	}
	return string(text)
}

// appendStack appends the paragraph of a coroutine.
func (s *scheduler) appendStack(text []byte, i int, co *coroutine) []byte {
	what := ""
	if co.condition != nil {
		what = " (awaits a condition)"
	}
	text = fmt.Appendf(text, "coroutine %d%s:\n", i+1, what)
	for frames := runtime.CallersFrames(s.callers[co]); ; {
		frame, more := frames.Next()
		if ofCode(&frame) {
			text = fmt.Appendf(text, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return text
		}
	}
}
