package perdure_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	hazardCited = regexp.MustCompile(`TestHazard0*(\d+)_|[Hh]azards? 0*(\d+)\b`)
	hazardRow   = regexp.MustCompile(`(?m)^\| (\d+) \|`)
)

// Each hazard that code or docs cite by its number is defined on one page.
func TestHazardsAreDefined(t *testing.T) {
	t.Parallel()
	defined := map[string]int{}
	for _, row := range hazardRow.FindAllStringSubmatch(readPage(t, "docs/explanation/hazards.md"), -1) {
		if defined[row[1]]++; defined[row[1]] > 1 {
			t.Errorf("hazard %s is defined twice", row[1])
		}
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && len(path) > 1 && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".md" && ext != ".mutant" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, cited := range hazardCited.FindAllStringSubmatch(string(text), -1) {
			if number := cited[1] + cited[2]; defined[number] == 0 {
				t.Errorf("%s cites hazard %s, which docs/explanation/hazards.md does not define", path, number)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
