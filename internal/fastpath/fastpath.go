// Package fastpath names the fast paths of a node, so that tests and benchmarks can switch each of them off. Without a
// path a node is slower and does the same; only Local also changes what histories hold.
package fastpath

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Set is a set of fast paths that are off. The zero value has all of them on.
type Set uint16

// The fast paths.
const (
	HandOff   Set = 1 << iota // a turn's commit leases the tasks that it writes to its own node
	FastTurn                  // a result goes to the execution in memory, not through its inbox
	Chain                     // the goroutine that commits a turn runs the attempt that the turn handed off
	Eager                     // an instance is stored together with its first turn
	Ahead                     // turns are claimed before they are due
	CodeFirst                 // the code of all turns that are due runs before their commits
	Sticky                    // a commit pins the instance to the node that has it in memory
	Local                     // local activities run inside turns; without it they are tasks, as with LocalActivityTime Off, and histories differ
	Cache                     // executions stay in memory between turns
	end
	All = end - 1
)

// names returns the names of the paths in the order of their bits.
func names() []string {
	return []string{"hand-off", "fast-turn", "chain", "eager", "ahead", "code-first", "sticky", "local", "cache"}
}

// Each returns every path on its own.
func Each() (all []Set) {
	for path := Set(1); path < end; path <<= 1 {
		all = append(all, path)
	}
	return all
}

// Has reports whether all of the paths are in s.
func (s Set) Has(paths Set) bool { return s&paths == paths }

// String returns the names of the paths, separated by commas.
func (s Set) String() string {
	if s == 0 {
		return "none"
	}
	if s == All {
		return "all"
	}
	var list []string
	for left := s & All; left != 0; left &= left - 1 {
		list = append(list, names()[bits.TrailingZeros16(uint16(left))])
	}
	return strings.Join(list, ",")
}

// Parse reads what String returns. The empty text is the empty set.
func Parse(text string) (s Set, err error) {
	switch text {
	case "", "none":
		return 0, nil
	case "all":
		return All, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		bit := slices.Index(names(), name)
		if bit < 0 {
			return 0, fmt.Errorf("there is no fast path %q: the names are %s, or all", name, strings.Join(names(), ", "))
		}
		s |= 1 << bit
	}
	return s, nil
}

type key struct{}

// Without returns a context for runtime.Start that starts a node without the paths.
func Without(ctx context.Context, off Set) context.Context {
	return context.WithValue(ctx, key{}, off)
}

// Off returns the set that Without put into the context.
func Off(ctx context.Context) Set {
	off, _ := ctx.Value(key{}).(Set)
	return off
}
