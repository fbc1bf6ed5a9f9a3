package fallback

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
)

// pattern is a name, or the beginning of names with an asterisk behind it.
type pattern string

// patternsOf checks what a user has given.
func patternsOf(names []string) ([]pattern, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("no name is given: give names, or beginnings of names such as %q", "mail.*")
	}
	all := make([]pattern, 0, len(names))
	for _, name := range names {
		begin, many := strings.CutSuffix(name, "*")
		if many && begin == "" {
			return nil, fmt.Errorf("%q stands for all names, and would take those of services that are not deployed yet: give the beginning of names, such as %q",
				name, "mail.*")
		}
		if strings.Contains(begin, "*") {
			return nil, fmt.Errorf("%q has an asterisk in the middle: an asterisk stands at the end of a name", name)
		}
		if err := check.Name("name", begin); err != nil {
			return nil, err
		}
		if reserved.Name(begin) || many && overlaps(begin) {
			return nil, fmt.Errorf("%q holds names that begin with %s, which belong to perdure itself: choose others", name, reserved.NamePrefix)
		}
		if slices.Contains(all, pattern(name)) {
			return nil, fmt.Errorf("%q has a fallback already: give each name one", name)
		}
		all = append(all, pattern(name))
	}
	return all, nil
}

// fits reports whether a name is meant, and how much of it the pattern tells.
func (p pattern) fits(name string) (length int, ok bool) {
	length = len(p) + 1 // a whole name tells more than the same beginning
	if begin, many := strings.CutSuffix(string(p), "*"); many {
		length = len(begin)
	}
	return length, upgrade.Fits(string(p), name)
}

// overlaps reports whether names that belong to perdure itself begin with the text.
func overlaps(begin string) bool {
	return len(begin) < len(reserved.NamePrefix) && reserved.NamePrefix[:len(begin)] == begin
}
