package figures

import (
	"cmp"
	"maps"
	"slices"
)

// bound leaves the largest, as many as most, and adds up the others.
func bound(counts map[string]int64, most int) {
	for _, name := range beyond(counts, func(n int64) int64 { return n }, most) {
		counts[Other] += counts[name]
		delete(counts, name)
	}
}

func boundBy[T any, P adder[T]](in map[string]P, size func(P) int64, most int) {
	for _, name := range beyond(in, size, most) {
		if in[Other] == nil {
			in[Other] = new(T)
		}
		in[Other].add((*T)(in[name]))
		delete(in, name)
	}
}

// beyond returns the names that are not among the largest.
func beyond[V any](in map[string]V, size func(V) int64, most int) []string {
	if len(in) <= most {
		return nil
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(in)), func(name string) bool { return name == Other })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(size(in[b]), size(in[a])) })
	return names[min(most, len(names)):]
}
