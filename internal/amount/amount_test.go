package amount_test

import (
	"testing"

	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOnlyOneIsSingular(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n          int64
		noun, want string
	}{
		{1, "instance", "1 instance"},
		{0, "instance", "0 instances"},
		{2, "instance", "2 instances"},
		{-1, "instance", "-1 instances"},
		{1, "activity", "1 activity"},
		{2, "activity", "2 activities"},
		{2, "try", "2 tries"},
		{2, "day", "2 days"},
		{3, "child", "3 children"},
		{3, "patch", "3 patches"},
	} {
		if got := amount.Of(c.n, c.noun); got != c.want {
			t.Errorf("%d of %q is %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}
