package check

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// The checks of names in the public packages are tested in internal/test/doors.

func TestQuote(t *testing.T) {
	for given, want := range map[string]string{
		"":                            `""`,
		"a\x1b\n":                     `"a\x1b\n"`,
		strings.Repeat("a", shown):    `"` + strings.Repeat("a", shown) + `"`,
		strings.Repeat("a", shown+1):  `"` + strings.Repeat("a", shown) + `"...`,
		strings.Repeat("é", shown):    `"` + strings.Repeat("é", shown/2) + `"...`,
		"a" + strings.Repeat("é", 40): `"a` + strings.Repeat("é", shown/2-1) + `"...`,
	} {
		if got := Quote(given); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is shown as %s, not %s", given, got, want)
		}
	}
}

func TestIsNil(t *testing.T) {
	var file *os.File
	var asReader io.Reader = file
	for name, c := range map[string]struct {
		v    any
		want bool
	}{
		"nil": {nil, true}, "nil pointer in an interface": {asReader, true},
		"pointer": {new(int), false}, "value": {7, false}, "empty map": {map[string]int(nil), false},
	} {
		if got := IsNil(c.v); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestContextAndLogger(t *testing.T) {
	var none context.Context
	if err := errors.Join(Context(t.Context()), Logger(nil), Logger(slog.Default())); err != nil {
		t.Error(err)
	}
	if Context(none) == nil || Logger(new(slog.Logger)) == nil {
		t.Error("nothing is taken for something")
	}
}
