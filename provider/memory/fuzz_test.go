package memory_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// FuzzCursor reads any text as the cursor of a list: List takes it, or refuses it with ErrInvalid.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "/", "1/00000000-0000-0000-0000-000000000001", "-1/x", "99999999999999999999/"} {
		f.Add(text)
	}
	p := memory.New(memory.Options{})
	f.Cleanup(func() { _ = p.Close() })
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := p.List(t.Context(), provider.ListRequest{Cursor: text}); err != nil && !errors.Is(err, provider.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
