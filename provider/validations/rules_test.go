package validations

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contract is the text of all comments of package provider, in one line.
func contract(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding the contract: %v", err)
	}
	var words []string
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if comment, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "//"); ok {
				words = append(words, strings.Fields(comment)...)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(words, " ")
}

// A case that quotes a sentence which the contract no longer has checks something else.
func TestRulesAreQuoted(t *testing.T) {
	text := contract(t)
	seen := map[string]bool{}
	for _, c := range cases() {
		name := c.group + "/" + c.name
		if !strings.Contains(text, strings.Join(strings.Fields(c.rule), " ")) {
			t.Errorf("%s quotes what the contract does not say: %s", name, c.rule)
		}
		if seen[name] || c.name == "" || c.rule == "" || c.run == nil {
			t.Errorf("%s is incomplete or there twice", name)
		}
		seen[name] = true
	}
	t.Logf("%d cases", len(seen))
}
