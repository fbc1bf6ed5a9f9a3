package orchestrationtest

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// noProgress is how long, in real time, a run may do nothing with its store.
const noProgress = 10 * time.Second

// watch looks from outside of a bubble whether the run in it makes progress. Its clock is the real one.
type watch struct {
	bubble atomic.Pointer[string] // the mark of its goroutines in stacks; nil: it has none yet
	alarm  alarm
}

// enter notes the bubble of the calling goroutine.
func (w *watch) enter() {
	buf := make([]byte, 1<<10)
	head, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	mark := bubbleMark(head)
	w.bubble.Store(&mark)
}

// bubbleMark returns the part of the first line of a stack that names a bubble; "": none does.
func bubbleMark(head string) string {
	return regexp.MustCompile(`synctest bubble \d+`).FindString(head)
}

// margin returns how long before the end of the binary a test fails that has that much time.
func margin(left time.Duration) time.Duration { return min(10*time.Second, left/4) }

// realMargin is margin in real time: the nodes may take seconds to end.
func realMargin(left time.Duration) time.Duration { return min(30*time.Second, left/2) }

// wait returns when done is closed, or when nothing has happened for the limit. It then reports where goroutines of the bubble are. A test
// that is near its deadline, if it has one, is told to end.
func (w *watch) wait(done <-chan struct{}, limit time.Duration, deadline time.Time) (report string, stuck bool) {
	var near <-chan time.Time // nil: there is no deadline
	if !deadline.IsZero() {
		left := time.Until(deadline)
		timer := time.NewTimer(left - margin(left))
		defer timer.Stop()
		near = timer.C
	}
	tick := time.NewTicker(limit / 10)
	defer tick.Stop()
	for last, idle := int64(-1), 0; idle <= 10; {
		select {
		case <-done:
			return "", false
		case <-near:
			w.alarm.late()
			continue
		case <-tick.C:
		}
		if now := w.alarm.calls.Load(); now != last {
			last, idle = now, 0
		} else {
			idle++
		}
	}
	return fmt.Sprintf("The test makes no progress for %v of real time. Time in it stands still while a goroutine runs, or waits for something outside of "+
		"its bubble: a mutex, a socket, a file, a channel that was made outside. Give calls Env.Context, not the context of the outer test.%s",
		limit, w.goroutines(false)), true
}

// goroutines describes the goroutines of the bubble: those that the clock waits for, or all.
func (w *watch) goroutines(all bool) string {
	mark := w.bubble.Load()
	if mark == nil || *mark == "" {
		return ""
	}
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 64<<20 {
		buf = make([]byte, 2*n)
		n = runtime.Stack(buf, true)
	}
	buf = buf[:n]
	var b strings.Builder
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		head, rest, _ := strings.Cut(stack, "\n")
		if bubbleMark(head) != *mark || strings.Contains(head, "synctest.Run") || !all && strings.Contains(head, "(durable)") {
			continue
		}
		places := ownPlaces(rest)
		if all && len(places) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s", strings.TrimSuffix(head, ":"))
		for _, place := range places {
			fmt.Fprintf(&b, "\n\t%s", place)
		}
	}
	return b.String()
}

// ownPlaces returns the innermost functions of a stack that belong neither to Go nor to the engine.
func ownPlaces(stack string) (places []string) {
	function := ""
	for line := range strings.Lines(stack) {
		line = strings.TrimRight(line, "\n")
		place, indented := strings.CutPrefix(line, "\t")
		if !indented {
			function = line
			continue
		}
		if ofEngine(function) || len(places) == shownFrames {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		if at := strings.LastIndexByte(function, '('); at > 0 {
			function = function[:at]
		}
		places = append(places, function+" ("+place+")")
	}
	return places
}

// ofEngine reports whether a line of a stack names a function of Go or of the engine.
func ofEngine(function string) bool {
	const module = "github.com/perdure/perdure/"
	return slices.ContainsFunc([]string{
		"runtime.", "runtime/", "internal/", "sync.", "sync/", "testing.", "testing/", "syscall.", "os.", "net.", "iter.", "created by ", "time.",
		module + "orchestration.", module + "orchestrationtest.", module + "internal/", module + "dispatcher", module + "runtime.", module + "client.",
		module + "provider/",
	}, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}
