package otel_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/sdk/trace"
)

// exported is a span as a process writes it into a file.
type exported struct {
	Name   string            `json:"name"`
	Trace  string            `json:"trace"`
	Span   string            `json:"span"`
	Parent string            `json:"parent,omitempty"` // "": it is a root
	Links  []string          `json:"links,omitempty"`  // IDs of spans
	Attrs  map[string]string `json:"attrs,omitempty"`
}

func exportedOf(s trace.ReadOnlySpan) exported {
	e := exported{
		Name: s.Name(), Trace: s.SpanContext().TraceID().String(), Span: s.SpanContext().SpanID().String(), Attrs: map[string]string{},
	}
	if s.Parent().IsValid() {
		e.Parent = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		e.Links = append(e.Links, l.SpanContext.SpanID().String())
	}
	for _, a := range s.Attributes() {
		e.Attrs[string(a.Key)] = a.Value.String()
	}
	return e
}

// treeOf returns spans, each as the path of names from its root, sorted. A parent that was not exported is a "?", and one of another trace
// is marked by "!".
func treeOf(spans []exported) (paths []string) {
	byID := map[string]exported{}
	for _, s := range spans {
		byID[s.Span] = s
	}
	for _, s := range spans {
		path := "/" + s.Name
		for at := s; at.Parent != ""; {
			up, ok := byID[at.Parent]
			if !ok {
				path = "/?" + path
				break
			}
			if up.Trace != at.Trace {
				path = "!" + path
			}
			path, at = "/"+up.Name+path, up
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// parse reads what processes have written, one span a line. A process that was killed may leave a part of its last line.
func parse(lines []string) (spans []exported, err error) {
	for i, line := range lines {
		var s exported
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		spans = append(spans, s)
	}
	return spans, nil
}
