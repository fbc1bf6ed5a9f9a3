package payload

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Where nothing is cut and nothing lies deep, it writes what json.Indent does.
func TestPrettyIsIndent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `[ ]`, `[[],{}]`, `{"a":[1,2,{"b":"x\"]},:{ y"}],"c":null}`, `"a: b, c"`, `12.5`, `{"a":{"b":{"c":[true,false]}}}`, `"\\"`, `["\\",1]`,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(text), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got, cut := Pretty([]byte(text), 1<<10); cut || string(got) != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, want.String())
		}
	}
	if got, cut := Pretty([]byte("!not JSON: a, b"), 100); cut || string(got) != "!not JSON: a, b" {
		t.Errorf("text became %s", got)
	}
}

// The cost of a view follows its limit, not the depth of what it shows.
func TestPrettyIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 9_000) + strings.Repeat("1,", 20_000) + "1" + strings.Repeat("]", 9_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, cut := Pretty([]byte(deep), 64<<10)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 4<<20 || len(got) > 64<<10 {
		t.Errorf("%d bytes of text, %d allocated", len(got), spent)
	}
	if !cut {
		if !json.Valid(got) {
			t.Error("what is whole is no JSON")
		}
	}
	if whole, cut := Pretty([]byte(deep), 1<<30); cut || !json.Valid(whole) || len(whole) > 2*len(deep) {
		t.Errorf("the whole has %d bytes, made of %d", len(whole), len(deep))
	}
}
