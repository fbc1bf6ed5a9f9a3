// Package natural orders code versions as people read them.
package natural

import (
	"cmp"
	"strings"
)

// Compare compares two versions, as the functions of package cmp do. Numbers in them count by value: "9" is before "10",
// "1.9" before "1.10", and "2026-02-01" before "2026-10-01". All else counts byte by byte. The empty version is before all others.
//
// Nodes of all releases must agree on the order, so it never changes.
func Compare(a, b string) int {
	for x, y := a, b; ; {
		p, q := chunk(x), chunk(y)
		if p == "" || q == "" {
			if order := cmp.Compare(len(p), len(q)); order != 0 {
				return order
			}
			return strings.Compare(a, b) // "1" and "01"
		}
		if order := compareChunks(p, q); order != 0 {
			return order
		}
		x, y = x[len(p):], y[len(q):]
	}
}

// compareChunks compares two chunks that are not empty.
func compareChunks(p, q string) int {
	if !digit(p[0]) || !digit(q[0]) {
		return strings.Compare(p, q)
	}
	p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
	return cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q))
}

// chunk returns the digits that a text begins with, or all before the next digit.
func chunk(s string) string {
	for i := 1; i < len(s); i++ {
		if digit(s[i]) != digit(s[0]) {
			return s[:i]
		}
	}
	return s
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
