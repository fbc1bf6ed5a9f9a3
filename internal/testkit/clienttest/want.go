package clienttest

import (
	"errors"
	"testing"
)

// Want checks an error against sentinels and against what its text must say.
func Want(t testing.TB, err error, text string, sentinels ...error) {
	t.Helper()
	for _, s := range sentinels {
		if !errors.Is(err, s) {
			t.Errorf("error %v is not %v", err, s)
		}
	}
	if err == nil || err.Error() != text {
		t.Errorf("got error\n\t%v, want\n\t%s", err, text)
	}
}
