package validations

import "testing"

// Each case is in one part, and no part lacks many of them.
func TestPartsAreDisjoint(t *testing.T) {
	t.Parallel()
	const parts = 4
	count := make([]int, parts)
	for _, c := range cases() {
		in := 0
		for i := range parts {
			var o options
			Part(i, parts)(&o)
			if !o.leavesOut(c) {
				in++
				count[i]++
			}
		}
		if in != 1 {
			t.Errorf("%s/%s is in %d parts", c.group, c.name, in)
		}
	}
	for i, n := range count {
		if n < len(cases())/parts/2 {
			t.Errorf("part %d has %d of %d cases", i, n, len(cases()))
		}
	}
}
