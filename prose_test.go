package perdure_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	clauseWords = []string{"Of ", "What ", "Who ", "Beside "}
	// clausePattern finds a sentence, a list item or a cell of a table that begins with a clause in place of a subject.
	clausePattern  = regexp.MustCompile("(?:^(?:[-*>] |[0-9]+\\. )?(?:\\*\\*)?|[.!?:|][)\"*_`]* (?:\\*\\*)?)(Of|What|Who|Beside) [a-z`]")
	commentPattern = regexp.MustCompile(`(?:^|\s)//\s*(.*)`)
)

// clauses returns the lines of a page, or of comments of a Go file, that begin a sentence with one of the words. Headings may begin with
// them, and so may comments of a function with that name.
func clauses(text string, code bool) []string {
	var found []string
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(clauseWords, func(word string) bool { return strings.Contains(line, word) }) {
			continue
		}
		sentence := strings.TrimSpace(line)
		if code {
			comment := commentPattern.FindStringSubmatch(sentence)
			if comment == nil {
				continue
			}
			sentence = comment[1]
		} else if strings.HasPrefix(sentence, "#") {
			continue
		}
		match := clausePattern.FindStringSubmatch(sentence)
		if match == nil || code && strings.HasPrefix(sentence, match[1]) && declares(text, match[1]) {
			continue
		}
		found = append(found, sentence)
	}
	return found
}

// declares reports whether a Go file has a function or method with the name.
func declares(text, name string) bool {
	return regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).MatchString(text)
}

// A sentence of a comment or a page begins with its subject, not with a clause in place of it.
func TestSentencesBeginWithTheirSubject(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && len(path) > 1 && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case ext == ".go" || ext == ".md":
			data, err := os.ReadFile(path)
			for _, sentence := range clauses(string(data), ext == ".go") {
				t.Errorf("%s: begin the sentence with its subject, in place of Of, What, Who or Beside: %s", path, sentence)
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestClausesAreFound(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"// What runs goes on.\nx := 1":                          true,
		"\t// It drains. Of many, one reads.":                    true,
		"// Of many scrapes at once, one reads.\nfunc read() {}": true,
		"// Of returns the name.\nfunc Of(fn any) string {":      false,
		"// Who returns\n// it.\nfunc (v *view) Who() string {":  false,
		"ask(\"What next\")":                                     false,
	} {
		if got := clauses(text, true); len(got) > 0 != bad {
			t.Errorf("%q: found %q", text, got)
		}
	}
	for text, bad := range map[string]bool{
		"What ends\nis copied.":       true,
		"- **It is one.** What fails": true,
		"| a | Beside it |":           true,
		"**Who suspends**":            true,
		"## What it costs":            false,
		"| What | Who |":              false,
	} {
		if got := clauses(text, false); len(got) > 0 != bad {
			t.Errorf("%q: found %q", text, got)
		}
	}
}
