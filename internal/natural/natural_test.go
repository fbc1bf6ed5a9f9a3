package natural_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The order is part of what is stored: nodes of all releases must agree on it.
func TestOrderNeverChanges(t *testing.T) {
	t.Parallel()
	want := []string{
		"", "-", "00", "0.9", "01", "1", "1-rc", "1.9", "1.9.1", "1.10", "2", "9", "10", "10a", "10a2", "10a10", "2026-02-01", "2026-10-01",
		"99999999999999999999", "100000000000000000000", "a", "a9", "a10", "ab", "v1", "v2", "v10", "ü",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// It is an order: of any three versions, none is before itself, and two steps up are a step up.
func TestHazard59_VersionsHaveOneOrder(t *testing.T) {
	t.Parallel()
	version := rapid.StringOfN(rapid.RuneFrom([]rune("019.-av")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := version.Draw(t, "a"), version.Draw(t, "b"), version.Draw(t, "c")
		if (natural.Compare(a, b) == 0) != (a == b) || natural.Compare(a, b) != -natural.Compare(b, a) {
			t.Fatalf("%q and %q: %d and %d", a, b, natural.Compare(a, b), natural.Compare(b, a))
		}
		if natural.Compare(a, b) < 0 && natural.Compare(b, c) < 0 && natural.Compare(a, c) >= 0 {
			t.Fatalf("%q is before %q, and that before %q, but not the first before the last", a, b, c)
		}
	})
}
