package alarm

import (
	"testing"
	"testing/synctest"
)

// Here the kernel's timers are used, but not where time is virtual.
func TestChoosesTheKernel(t *testing.T) {
	t.Parallel()
	isExact := func(t *testing.T) bool {
		t.Helper()
		a := New(func() {})
		t.Cleanup(a.Stop)
		_, exactly := a.(*exact)
		return exactly
	}
	if !isExact(t) {
		t.Error("it uses Go's timers")
	}
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		if isExact(t) {
			t.Error("in virtual time it uses those of the kernel")
		}
	})
}
