package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/provider"
)

// FuzzCursor reads any text as the cursor of a list. The result is a cursor that List could have returned, or ErrInvalid.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "/", "1/00000000-0000-0000-0000-000000000001", "-1/x", "99999999999999999999/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, key, err := readCursor(text)
		if err != nil {
			if !errors.Is(err, provider.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if a, k, err := readCursor(fmt.Sprintf("%d/%s", at, key)); a != at || k != key || err != nil {
			t.Fatalf("%q: %v %v became %v %v, %v", text, at, key, a, k, err)
		}
	})
}
