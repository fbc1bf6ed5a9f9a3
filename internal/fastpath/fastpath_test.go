package fastpath_test

import (
	"testing"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Every set has a text of its own that is read back.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for s := fastpath.Set(0); s <= fastpath.All; s++ {
		text := s.String()
		if seen[text] {
			t.Errorf("%q stands for two sets", text)
		}
		seen[text] = true
		if got, err := fastpath.Parse(text); err != nil || got != s {
			t.Errorf("Parse(%q) returned %v, %v", text, got, err)
		}
	}
	if n := len(fastpath.Each()); 1<<n-1 != int(fastpath.All) {
		t.Errorf("Each returned %d paths", n)
	}
	if _, err := fastpath.Parse("hand-off,warp"); err == nil {
		t.Error("a path that does not exist was accepted")
	}
	if off := fastpath.Off(fastpath.Without(t.Context(), fastpath.Eager)); off != fastpath.Eager || fastpath.Off(t.Context()) != 0 {
		t.Errorf("the context holds %v", off)
	}
}
