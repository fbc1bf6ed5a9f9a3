package client

import (
	"fmt"
	"unicode/utf8"
)

// SearchError says what is wrong with the text of a search, and where. It is an ErrInvalid.
type SearchError struct {
	Column int    // of the character where the trouble begins, from 1; 0: the search as a whole
	Why    string // what is wrong
	Mend   string // what to write
}

// Error returns what is wrong, where it is, and what to write.
func (e *SearchError) Error() string {
	where := "search"
	if e.Column > 0 {
		where = fmt.Sprintf("search, column %d", e.Column)
	}
	return fmt.Sprintf("%s: %s: %s", where, e.Why, e.Mend)
}

// Is reports that the error is an ErrInvalid.
func (*SearchError) Is(target error) bool { return target == ErrInvalid }

// fail returns an error at a byte of the text.
func (p *searchParser) fail(at int, mend, why string, args ...any) error {
	return &SearchError{Column: utf8.RuneCountInString(p.text[:at]) + 1, Why: fmt.Sprintf(why, args...), Mend: mend}
}
