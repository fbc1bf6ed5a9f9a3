// Package amount writes numbers of things for people: "1 instance", "2 instances".
package amount

import (
	"fmt"
	"strings"
)

// Of returns a number with its noun. The noun is given as it stands behind 1.
func Of[N int | int64](n N, noun string) string {
	return fmt.Sprint(n) + " " + Noun(n, noun)
}

// Noun returns the noun as it stands behind a number: "query" behind 1, and "queries" behind any other.
func Noun[N int | int64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	stem, ends := strings.CutSuffix(noun, "y")
	switch {
	case ends && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(noun, "child"):
		return noun + "ren"
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}
