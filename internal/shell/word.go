// Package shell writes command lines that are shown to be copied.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=+"

// Word quotes a word for a shell. What it returns can be shown as it is: a rune that does not print is written as bytes in $'...', which bash, zsh,
// ksh and POSIX of 2024 read. So nobody has to escape it once more, which would end the quotes.
func Word(s string) string {
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('\'')
	return b.String()
}

// Name is Word for an argument that follows all flags: one that begins like a flag is none.
func Name(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-- " + Word(s)
	}
	return Word(s)
}
