package features

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// The page names every feature of the lists, and each test that it names exists.
func TestPageNamesTests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heading, column, pkg string
		rows                 int
	}{
		{"Features of activities", "feature", "internal/test/features", 10},
		{"Orchestrations", "feature", "internal/test/features", 11},
		{"Local activities", "feature", "internal/test/local", 15},
		{"Cancellation of activities", "name in the plan", "internal/test/cancellation", 22},
	} {
		rows := settings.Table(t, "acceptance.md", c.heading, c.column)
		if len(rows) != c.rows {
			t.Errorf("%s: %d rows, the list has %d", c.heading, len(rows), c.rows)
		}
		tests := testsOf(t, c.pkg)
		for name, row := range rows {
			named := strings.Trim(row["test in `"+c.pkg+"`"], "`")
			top, sub, _ := strings.Cut(named, "/")
			if !strings.HasSuffix(name, sub) || !strings.Contains(tests, "func "+top+"(t *testing.T)") || !strings.Contains(tests, `"`+sub+`"`) {
				t.Errorf("%s: %s has no test %q", c.heading, name, named)
			}
		}
	}
}

// testsOf returns the sources of a package's tests.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(settings.Root(t), pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
