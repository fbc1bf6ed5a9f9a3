package raced

import (
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
)

// Share returns which pairs of calls a test plays, by their indexes: in the long run one pair of so many, by a part that is drawn and
// logged, and in the quick run none.
func Share(t testing.TB, of int) func(i, j int) bool {
	t.Helper()
	part := rand.IntN(of)
	t.Logf("part %d of %d of the pairs", part, of)
	return func(i, j int) bool { return longtest.Pick(false, (i+7*j)%of == part) }
}
