package validations

import (
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/provider"
)

// A failure shows names of sentinels, kinds, short keys and payloads as text.
func TestFailuresAreReadable(t *testing.T) {
	t.Parallel()
	key := provider.UUID{0x12, 0x34, 0x56, 0x78, 0x9a}
	for want, v := range map[string]any{
		"ErrConflict": provider.ErrConflict,
		"ErrConflict (instance \"i\": conflict: the stored version has changed)": fmt.Errorf("instance %q: %w", "i", provider.ErrConflict),
		"boom":     errors.New("boom"),
		"12345678": key,
		`{Key:12345678 ID:"i" Status:Running Result:"text"}`: struct {
			Key    provider.UUID
			ID     string
			Status provider.Status
			Result []byte
			Empty  []byte
		}{key, "i", provider.StatusRunning, []byte("text"), nil},
		`{Kind:7 Payload:"m"}`:            text("m"),
		`[{Kind:7 Payload:"a"} {Kind:7}]`: []provider.NewMessage{text("a"), {Kind: 7}},
		"fffe and so on, 2 bytes":         []byte{0xff, 0xfe},
		"map[\"a\":1 \"b\":2]":            map[string]int{"b": 2, "a": 1},
		"none":                            (*provider.Blocked)(nil),
	} {
		if got := describe(v, false); got != want {
			t.Errorf("%T is shown as %s, want %s", v, got, want)
		}
	}
	if got := fmt.Sprintf("%v %q", readable([]any{provider.ErrEnded, []byte("x")})...); got != `ErrEnded "x"` {
		t.Errorf("arguments are shown as %s", got)
	}
}
