package replay

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// difference returns the field in which code asks for something else than history holds, "" if there is none. Only
// what identifies a command counts: payloads and retry policies may change between releases of the code.
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
	case *history.UpdateAccepted, *history.UpdateRejected, *history.UpdateCompleted:
		if updateOf(stored) != updateOf(want) {
			return "update"
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
	return reachDifference(stored, want)
}

// reachDifference is difference for the commands that reach other instances.
func reachDifference(stored, want history.Body) string {
	switch s := stored.(type) {
	case *history.DetachedStarted:
		w := want.(*history.DetachedStarted)
		if s.Name != w.Name {
			return "name"
		}
		if s.Explicit != w.Explicit || s.Explicit && s.ID != w.ID {
			return "ID"
		}
	case *history.EventSent:
		w := want.(*history.EventSent)
		if s.Name != w.Name {
			return "name"
		}
		if s.ID != w.ID || s.Key != w.Key {
			return "receiver"
		}
	case *history.CancelSent:
		if w := want.(*history.CancelSent); s.ID != w.ID || s.Key != w.Key {
			return "receiver"
		}
	}
	return ""
}

// updateOf returns the event that received the update of a command.
func updateOf(b history.Body) int64 {
	switch b := b.(type) {
	case *history.UpdateAccepted:
		return b.Received
	case *history.UpdateRejected:
		return b.Received
	case *history.UpdateCompleted:
		return b.Received
	default:
		return 0
	}
}

// describe names an event in errors.
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
	case *history.DetachedStarted:
		if b.Explicit {
			return fmt.Sprintf("%v of %q with ID %q", b.Kind(), b.Name, b.ID)
		}
		return fmt.Sprintf("%v of %q", b.Kind(), b.Name)
	case *history.EventSent:
		return fmt.Sprintf("%v %q to %s", b.Kind(), b.Name, receiver(b.ID, b.Key))
	case *history.CancelSent:
		return fmt.Sprintf("%v to %s", b.Kind(), receiver(b.ID, b.Key))
	case *history.ActivityCancelRequested:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Scheduled)
	case *history.TimerCancelled:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Timer)
	case *history.ChildCancelRequested:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Started)
	case *history.UpdateReceived:
		return fmt.Sprintf("%v %q with ID %q", b.Kind(), b.Name, b.ID)
	case *history.UpdateAccepted:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Received)
	case *history.UpdateRejected:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Received)
	case *history.UpdateCompleted:
		return fmt.Sprintf("%v of event %d", b.Kind(), b.Received)
	case *history.PatchMarked:
		return fmt.Sprintf("%v of %q", b.Kind(), b.ID)
	default:
		return b.Kind().String()
	}
}

// receiver names the receiver of a message in errors.
func receiver(id string, key [16]byte) string {
	if key != [16]byte{} {
		return "instance " + provider.UUID(key).String()
	}
	return "instance " + strconv.Quote(id)
}

// duration shows microseconds as Go does, as long as a [time.Duration] holds them.
func duration(micros int64) string {
	if micros > math.MaxInt64/1_000 {
		return fmt.Sprintf("%d µs", micros)
	}
	return (time.Duration(micros) * time.Microsecond).String()
}

const module = "github.com/perdure/perdure/"

// callerOutside returns file and line of the innermost caller that is not the engine.
func callerOutside() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if ofCode(&frame) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// ofCode reports whether a frame is of user code.
func ofCode(frame *runtime.Frame) bool {
	f := frame.Function
	return f != "" && !strings.HasPrefix(f, module+"orchestration.") && !strings.HasPrefix(f, module+"internal/replay.") &&
		!strings.HasPrefix(f, module+"internal/bind.") && !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "iter.")
}
