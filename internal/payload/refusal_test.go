package payload

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"", "too long", "a\x00b", "\xff", strings.Repeat("é", 400)} {
		data := Refusal(why)
		got, refused := Refused(data)
		if !refused || !utf8.Valid(data) || len(data) > maxRefusal || strings.Contains(got, "\x00") {
			t.Errorf("%q became %q", why, data)
		}
	}
	for _, v := range []any{nil, none{}, "!", map[string]int{"!": 1}, []string{"!"}} {
		data, err := Encode(v)
		if why, refused := Refused(data); err != nil || refused {
			t.Errorf("%v counts as refused: %q, %v", v, why, err)
		}
	}
}
