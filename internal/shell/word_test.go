package shell_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A shell reads a quoted word as what it was, whatever is in it, and the word can be shown as it stands.
func TestWordIsReadAsItWas(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, s := range []string{
		"", "order-42", "a b", "it's", "a'; touch x #\a", "eu -- retry", `back\slash`, "\\'\n", "$HOME `x` $(x) !1", "\xff'\xfe", "Ænne ✓", "-x", "a\u202eb", "é\a1", "~", "a=b", "*",
	} {
		word := shell.Word(s)
		if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is %q, which cannot be shown", s, word)
		}
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s. "+word).Output()
		if err != nil || string(out) != s+"." {
			t.Errorf("%q is %s, which bash reads as %q (%v)", s, word, out, err)
		}
	}
	if got := shell.Name("-x"); got != "-- -x" {
		t.Errorf("a name that begins like a flag is %s", got)
	}
}
