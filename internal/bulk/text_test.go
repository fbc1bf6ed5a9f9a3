package bulk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/bulk"
)

// Each text comes back from the form that a preview shows, and from JSON, which are one line.
func TestHazard160_TextsRoundTrip(t *testing.T) {
	for _, text := range []string{
		"plain", "two\nlines", "\ttab", `"quoted"`, `a "b" c`, `back\slash \n`, "", "\u00a0", "\u202e", "😀", "\x00", "é\u0301", "`", "'", "<&>",
	} {
		shown := bulk.QuoteText(text)
		if got, err := bulk.ParseText(shown); err != nil || got != text || strings.ContainsAny(shown, "\n\r") {
			t.Errorf("%q shown as %s is read as %q %v", text, shown, got, err)
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := bulk.ParseText(string(encoded)); err != nil || got != text {
			t.Errorf("%q as JSON %s is read as %q %v", text, encoded, got, err)
		}
		if got, err := bulk.ParseText(text); !strings.HasPrefix(text, `"`) && (err != nil || got != text) {
			t.Errorf("%q as it is is read as %q %v", text, got, err)
		}
	}
	for _, bad := range []string{`"open`, `"a" b`, `"`} {
		if got, err := bulk.ParseText(bad); err == nil {
			t.Errorf("%s is read as %q", bad, got)
		}
	}
}
