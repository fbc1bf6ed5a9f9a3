package coming_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The last column of each table with code on both sides is in a file of this package.
func TestPagesShowWhatCompiles(t *testing.T) {
	source := ""
	for _, file := range []string{"coming.go", "temporal_test.go", "dbos_test.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source += string(data)
	}
	span := regexp.MustCompile("`[^`]+`")
	for _, page := range []string{"coming-from-temporal-go.md", "coming-from-dbos.md"} {
		data, err := os.ReadFile("../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(data)) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(cells) != 3 || !strings.HasPrefix(line, "| ") || strings.Contains(line, "--- |") || strings.HasPrefix(line, "| to do |") {
				continue
			}
			rows++
			code, _, _ := strings.Cut(cells[2], "`. ") // what follows is a remark
			for _, match := range span.FindAllString(code+"`", -1) {
				if shown := strings.Trim(match, "`"); strings.HasPrefix(strings.TrimSpace(cells[2]), "`") && !strings.Contains(source, shown) {
					t.Errorf("%s: this code is in no file of the package: %s", page, shown)
				}
			}
		}
		if rows < 40 {
			t.Errorf("%s has %d rows", page, rows)
		}
	}
}
