package provider_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// FuzzUUID parses any text as a UUID. A UUID formats as the same text, and an error leaves
// the value unchanged.
func FuzzUUID(f *testing.F) {
	for _, text := range []string{
		"", "00000000-0000-0000-0000-000000000000", "0190A1B2-c3d4-7e5f-8011-223344556677", "0190a1b2c3d47e5f8011223344556677",
		"{190a1b2-c3d4-7e5f-8011-22334455667}", "0190a1b2-c3d4-7e5f-8011-22334455667g",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var u provider.UUID
		if err := u.UnmarshalText(text); err != nil {
			if !u.IsZero() {
				t.Fatalf("%q is refused and leaves %s", text, u)
			}
			return
		}
		if got := u.String(); got != strings.ToLower(string(text)) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
