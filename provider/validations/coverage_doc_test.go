package validations

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The page of coverage cites cases of the suite, which are there.
func TestCoveragePageCitesCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(repository + "/docs/reference/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	cited := regexp.MustCompile("`TestConformance/([\\w-]+)/([\\w-]+)`").FindAllStringSubmatch(string(text), -1)
	if len(cited) < 30 {
		t.Errorf("the page cites %d cases", len(cited))
	}
	all := cases()
	for _, c := range cited {
		if !slices.ContainsFunc(all, func(is testCase) bool { return is.group == c[1] && is.name == c[2] }) {
			t.Errorf("group %s of the suite has no case %s", c[1], c[2])
		}
	}
}
