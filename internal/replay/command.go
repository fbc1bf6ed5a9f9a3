package replay

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// emit records a command of the code and answers its event ID. On replay the command is
// matched against the next event of the history instead; a difference is a fault, and the
// coroutine that made it never goes on.
func (x *Execution) emit(want history.Body) int64 {
	x.effects.Add(1)
	if !x.Replaying() {
		x.burst.add(want)
		x.size += history.Size(want)
		x.length++
		x.fresh = append(x.fresh, history.Event{ID: x.length, Body: want})
		return x.length
	}
	if x.position < len(x.script) {
		stored := x.script[x.position]
		if difference(stored.Body, want) == "" {
			x.burst.add(stored.Body)
			x.size += history.Size(stored.Body)
			x.position++
			x.length = stored.ID
			return stored.ID
		}
		x.deviate(&NonDeterminismError{
			EventID: stored.ID, History: describe(stored.Body), Code: describe(want), Source: x.source(),
		})
	}
	x.deviate(&NonDeterminismError{
		EventID: x.length + 1, History: "nothing (the history ends here)", Code: describe(want), Source: x.source(),
	})
	return 0
}

// recorded answers what is stored under the event that emit has just matched or recorded for want.
func (x *Execution) recorded(want history.Body) history.Body {
	if !x.Replaying() {
		return want
	}
	return x.script[x.position-1].Body
}

// deviate stops the turn; the running coroutine never goes on. When no coroutine is running - a
// message's own effect emits, such as a cancelled scope - the scheduler stops before the next one.
func (x *Execution) deviate(err error) {
	x.fail(err)
	if co := x.current.Load(); co != nil {
		co.park()
	}
}

// difference says in which field, if any, code asks for something else than history
// holds. Only what identifies a command counts: payloads and retry policies may change
// between releases of the code.
func difference(stored, want history.Body) string {
	if stored.Kind() != want.Kind() {
		return "kind"
	}
	switch s := stored.(type) {
	case *history.ActivityScheduled:
		if w := want.(*history.ActivityScheduled); s.Name != w.Name || s.Local != w.Local {
			return "name"
		}
	case *history.TimerCreated:
		if s.Duration != want.(*history.TimerCreated).Duration {
			return "duration"
		}
	case *history.ChildStarted:
		w := want.(*history.ChildStarted)
		if s.Name != w.Name {
			return "name"
		}
		if s.Explicit != w.Explicit || s.Explicit && s.ID != w.ID {
			return "ID"
		}
	case *history.ActivityCancelRequested:
		if s.Scheduled != want.(*history.ActivityCancelRequested).Scheduled {
			return "activity"
		}
	case *history.TimerCancelled:
		if s.Timer != want.(*history.TimerCancelled).Timer {
			return "timer"
		}
	case *history.ChildCancelRequested:
		if s.Started != want.(*history.ChildCancelRequested).Started {
			return "child"
		}
	}
	return ""
}

// describe names a command for a person.
func describe(b history.Body) string {
	switch b := b.(type) {
	case *history.ActivityScheduled:
		return fmt.Sprintf("%v of %q", b.Kind(), b.Name)
	case *history.LocalEnded:
		return fmt.Sprintf("%v of local call %d of %q", b.Kind(), b.Call, b.Name)
	case *history.LocalQueued:
		return fmt.Sprintf("%v of local call %d of %q", b.Kind(), b.Call, b.Name)
	case *history.TimerCreated:
		return fmt.Sprintf("%v of %s", b.Kind(), duration(b.Duration))
	case *history.ChildStarted:
		if b.Explicit {
			return fmt.Sprintf("%v of %q with ID %q", b.Kind(), b.Name, b.ID)
		}
		return fmt.Sprintf("%v of %q", b.Kind(), b.Name)
	case *history.ActivityCancelRequested:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Scheduled)
	case *history.TimerCancelled:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Timer)
	case *history.ChildCancelRequested:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Started)
	default:
		return b.Kind().String()
	}
}

// duration shows microseconds as Go does, as long as a [time.Duration] holds them.
func duration(micros int64) string {
	if micros > math.MaxInt64/1_000 {
		return fmt.Sprintf("%d µs", micros)
	}
	return (time.Duration(micros) * time.Microsecond).String()
}

const module = "github.com/perdure/perdure/"

// source answers file and line of the running code, "" if a message and not code acts.
func (x *Execution) source() string {
	if x.current.Load() == nil {
		return ""
	}
	return callerOutside()
}

// callerOutside answers file and line of the innermost caller that is not the engine.
func callerOutside() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, module+"orchestration.") &&
			!strings.HasPrefix(frame.Function, module+"internal/replay.") && !strings.HasPrefix(frame.Function, module+"internal/bind.") &&
			!strings.HasPrefix(frame.Function, "runtime.") && !strings.HasPrefix(frame.Function, "iter.") {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}
