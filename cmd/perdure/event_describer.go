package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
)

// eventLimit is the length to which a table row cuts a payload.
const eventLimit = 100

// eventDescriber describes events in one line each, without their kind. It takes the events of an execution in order and
// remembers the names that later events refer to.
type eventDescriber struct {
	limit int // of a payload
	names map[int64]string
}

func newEventDescriber(limit int) *eventDescriber {
	return &eventDescriber{limit: limit, names: make(map[int64]string)}
}

func (n *eventDescriber) text(e *client.HistoryEvent) string {
	if e.Name != "" {
		n.names[e.ID] = e.Name
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Name != "" {
		add("%s", e.Name)
	}
	if e.Instance != "" {
		add("as %s", e.Instance)
	}
	if e.Ref != 0 {
		add("%s", strings.TrimSpace(fmt.Sprintf("of %d %s", e.Ref, n.names[e.Ref])))
	}
	if e.Attempt > 1 {
		add("on attempt %d", e.Attempt)
	}
	if e.Duration > 0 {
		add("%v", e.Duration)
	}
	if e.Parent != nil {
		add("for %s", e.Parent.ID)
	}
	if o := e.Origin; o != nil {
		add("from %s, execution %d, event %d", o.ID, o.Execution, o.EventID)
	}
	if e.Reason != "" {
		add("%s", e.Reason)
	}
	if len(e.Input) > 0 {
		add("%s", payloadText(e.Input, n.limit))
	}
	if e.Cancellation != "" {
		add("cancellation %s", e.Cancellation)
	}
	if e.ClosePolicy != "" {
		add("close policy %s", e.ClosePolicy)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		add("attribute %q: %s", short(name, n.limit), short(fmt.Sprint(e.Attributes[name]), n.limit))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Header)) {
		add("header %q: %q", short(key, n.limit), short(e.Header[key], n.limit))
	}
	if len(e.Output) > 0 {
		add("-> %s", payloadText(e.Output, n.limit))
	}
	if e.Failure != nil {
		add("-> %s", short(failureText(e.Failure), 2*n.limit))
	}
	return strings.Join(parts, " ")
}

// payloadText returns a stored payload as one line.
func payloadText(data json.RawMessage, limit int) string {
	if len(data) == 0 {
		return "-"
	}
	return short(string(data), limit)
}

// failureText returns the first line of a failure, with the code or type that retry policies name.
func failureText(f *client.Failure) string {
	message, _, _ := strings.Cut(f.Message, "\n")
	switch {
	case f.Code != "":
		return message + " (" + f.Code + ")"
	case f.Type != "":
		return message + " (" + f.Type + ")"
	}
	return message
}
