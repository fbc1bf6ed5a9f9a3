package main

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
)

// attemptRows writes a row for each attempt that has ended.
func attemptRows(w *grid, list []client.Attempt) {
	for i := range list {
		row(w, fmt.Sprintf("  attempt %d", list[i].Number), attemptText(&list[i]))
	}
}

// attemptText describes an attempt in one line.
func attemptText(a *client.Attempt) string {
	text := instant(a.Began)
	if !a.Began.IsZero() && !a.Ended.IsZero() {
		text += fmt.Sprintf(", for %v", a.Ended.Sub(a.Began).Round(time.Millisecond))
	}
	if a.Node != "" {
		text += ", on " + a.Node
	}
	if a.Failure == "" {
		return text + ": completed"
	}
	return text + ": " + a.Failure
}
