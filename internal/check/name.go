package check

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/provider"
)

// shown is how many bytes of a bad value an error repeats.
const shown = 40

// Name refuses an ID or name that a storage would not take. what describes it to people, such as "instance ID".
func Name(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s is empty: give 1 to %d bytes of UTF-8", what, provider.MaxName)
	}
	return OptionalName(what, name)
}

// OptionalName is Name, but accepts an empty name.
func OptionalName(what, name string) error {
	if len(name) > provider.MaxName {
		return fmt.Errorf("%s %s has %d bytes: shorten it to %d", what, Quote(name), len(name), provider.MaxName)
	}
	return Text(what, name)
}

// Text refuses a text that a storage could not return unchanged.
func Text(what, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s %s is not valid UTF-8: encode it, as hex for example", what, Quote(text))
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%s %s has a NUL byte: take it out", what, Quote(text))
	}
	return nil
}

// Quote shows a value of any length and content in an error.
func Quote(s string) string {
	if len(s) <= shown {
		return fmt.Sprintf("%q", s)
	}
	cut := shown
	for cut > shown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q...", s[:cut])
}

// ErrNilOption is said of an option that is nil.
var ErrNilOption = errors.New("an option is nil: leave it out")

// Cut returns the beginning of a text: at most limit bytes, in whole characters.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
