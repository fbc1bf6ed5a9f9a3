package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// steering holds texts that would control a terminal, reverse the direction of a line or end a table's row.
var steering = []string{
	"\x1b[31m", "\x1b]0;title\a", "\u009b2J", "\x7f", "\r", "\n", "\t", "\b", "a\u202eb", "\u200b", "\ufeff", "\u2028", "\U000e0001", "\u00a0", "\x00", "\xff",
	"-", "--db", "'", "\"", "\\", "<b>", "е", "e\u0301", "\u65e5\u672c", "\U0001f600",
}

// clean reports whether a terminal shows the text unchanged.
func clean(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

// For every ID, event and reason, a command either refuses it or shows the stored text without control characters.
// JSON output returns it unchanged.
func TestNamesOnTerminal(t *testing.T) {
	path := fixture(t)
	names := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(steering), 1, 3), func(s []string) string { return strings.Join(s, "x") }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		name := names.Draw(rt, "name")
		fits := name != "" && len(name) <= provider.MaxName && utf8.ValidString(name) && !strings.Contains(name, "\x00")
		ask := func(args ...string) string {
			code, stdout, stderr := perdure(t, "", append([]string{"--db", path}, args...)...)
			if !clean(stdout) || !clean(stderr) {
				rt.Errorf("%q steers the terminal: %q %q", args, stdout, stderr)
			}
			// A valid name is accepted in the first round and in use in later ones. Any other is refused.
			if want := code == exitOK || code == exitConflict; want != fits {
				rt.Errorf("%q: exit code %d: %s", args, code, stderr)
			}
			return stdout
		}
		ask("start", "Idle", "--id="+name)
		shown := ask("show", "--output=json", "--", name)
		if !fits {
			return
		}
		var d client.Description
		if err := json.Unmarshal([]byte(shown), &d); err != nil || d.ID != name {
			rt.Errorf("%q is shown as %q: %v", name, d.ID, err)
		}
		ask("raise", "--", name, name)
		ask("show", "--", name)
		ask("list", "--limit=3")
	})
}
