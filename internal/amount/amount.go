// Package amount writes numbers of things and durations for people: "1 instance", "2 instances", "720h".
package amount

import (
	"fmt"
	"strings"
	"time"
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

// Span returns a duration without trailing units that are zero, such as "720h". time.ParseDuration reads it.
func Span(d time.Duration) string {
	text := d.String()
	if d != 0 && d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d != 0 && d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
