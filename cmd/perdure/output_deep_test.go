package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What is printed follows the size of what is stored, not its depth. It stays the JSON that it was.
func TestDeepJSONIsPrintedInItsSize(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 9_000) + strings.Repeat(`{"a":1},`, 1_000) + "1" + strings.Repeat("]", 9_000))
	var printed, compact bytes.Buffer
	if err := writeJSON(&printed, map[string]any{"event": deep, "text": "a: b, {c}"}); err != nil {
		t.Fatal(err)
	}
	if printed.Len() > 2*len(deep) {
		t.Errorf("%d bytes are printed as %d", len(deep), printed.Len())
	}
	if err := json.Compact(&compact, printed.Bytes()); err != nil || !strings.Contains(compact.String(), string(deep)) {
		t.Errorf("the JSON has changed: %v", err)
	}
	if !strings.HasPrefix(printed.String(), "{\n  \"event\": [\n    [\n") || !strings.HasSuffix(printed.String(), "\n  \"text\": \"a: b, {c}\"\n}\n") {
		t.Errorf("printed %.40q ... %q", printed.String(), printed.String()[printed.Len()-40:])
	}
}

// A long list that lies deep would grow by its indentation to more than forty times its size.
func TestLongJSONIsPrintedInItsSize(t *testing.T) {
	long := json.RawMessage(strings.Repeat("[", 19) + strings.Repeat("1,", 200_000) + "1" + strings.Repeat("]", 19))
	var printed bytes.Buffer
	if err := writeJSON(&printed, map[string]any{"event": long}); err != nil {
		t.Fatal(err)
	}
	if printed.Len() > 5*len(long) || !json.Valid(printed.Bytes()) || !strings.HasSuffix(printed.String(), "]}\n") {
		t.Errorf("%d bytes are printed as %d, valid JSON: %t", len(long), printed.Len(), json.Valid(printed.Bytes()))
	}
}
