package client

import "strings"

// brief returns the text of a fault without its stack, and with the first place of it that is the user's own.
func brief(message string) string {
	head, stack, found := strings.Cut(message, "\ngoroutine ")
	if !found {
		return message
	}
	if at := ownFrame(stack); at != "" {
		return head + " at " + at
	}
	return head
}

// ownFrame returns the first function of a stack, below the panic, that belongs neither to Go's runtime nor to perdure, and its place. It is
// empty if there is none.
func ownFrame(stack string) (at string) {
	lines := strings.Split(stack, "\n")
	for n := len(lines) - 2; n > 0; n-- { // a later panic hides those that it deferred
		name, place := lines[n], lines[n+1]
		if !strings.HasPrefix(place, "\t") || strings.HasPrefix(name, "\t") {
			continue
		}
		switch {
		case strings.HasPrefix(name, "panic("):
			return at
		case !ofEngine(name):
			at = strings.TrimSpace(place)
			if end := strings.LastIndex(at, " +0x"); end > 0 {
				at = at[:end]
			}
			if end := strings.LastIndex(name, "("); end > 0 {
				at = name[:end] + " (" + at + ")"
			}
		}
	}
	return at
}

// ofEngine reports whether a line of a stack names a function of Go's runtime or of the engine, which call the user's code.
func ofEngine(name string) bool {
	const module = "github.com/perdure/perdure/"
	for _, prefix := range []string{
		"runtime.", "runtime/", "internal/", "iter.", "created by ", module + "orchestration.", module + "internal/replay.", module + "internal/bind.",
		module + "dispatcher/",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
