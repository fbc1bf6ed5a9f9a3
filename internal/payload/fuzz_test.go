package payload

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

type fuzzed struct {
	Text    string
	Number  float64
	Bytes   []byte
	Nested  map[string]*fuzzed
	Any     any
	When    time.Time
	Pointer *int
	List    []int8 `json:"list,omitempty"`
}

// FuzzDecodeTypes decodes any bytes into types of users: a value that is encoded and decoded
// to the same value, or ErrDecode and the zero value.
func FuzzDecodeTypes(f *testing.F) {
	for _, data := range []string{
		"", "null", "{}", `"text"`, "1e9", "[1,2,3]", `{"Text":"a","Nested":{"b":{"Number":1}},"Any":[1,null],"Bytes":"AA=="}`,
		`{"When":"2026-01-02T03:04:05Z","Pointer":7,"list":[-128]}`, `{"When":"never"}`, `{"list":[300]}`, "{", "\xff",
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeAs[fuzzed](t, data)
		decodeAs[map[string]any](t, data)
		decodeAs[[]int](t, data)
		decodeAs[string](t, data)
		decodeAs[*uint8](t, data)
		decodeAs[any](t, data)
	})
}

func decodeAs[T any](t *testing.T, data []byte) {
	t.Helper()
	var v, again, zero T
	if err := Decode(data, &v); err != nil {
		if !errors.Is(err, ErrDecode) || !reflect.DeepEqual(v, zero) {
			t.Fatalf("%T: %v with %v", v, err, v)
		}
		return
	}
	first, err := Encode(v)
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	if err := Decode(first, &again); err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	second, err := Encode(again)
	if err != nil || string(first) != string(second) {
		t.Fatalf("%T: %s became %s, %v", v, first, second, err)
	}
}
