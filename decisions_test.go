package perdure_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goFiles returns the paths of all Go files with slashes, and the names of all tests in them.
func goFiles(t *testing.T) (paths, tests []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		paths = append(paths, filepath.ToSlash(path))
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(readPage(t, path), -1) {
				tests = append(tests, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths, tests
}

// Each decision has its parts, stands in the list under its title, and names files and tests that exist. A name that ends with an underscore stands for
// all tests that begin so.
func TestDecisionsAreWhole(t *testing.T) {
	t.Parallel()
	records, err := filepath.Glob("docs/decisions/[0-9]*.md")
	if err != nil || len(records) < 50 {
		t.Fatal(len(records), err)
	}
	index := readPage(t, "docs/decisions/README.md")
	sources, tests := goFiles(t)
	files := regexp.MustCompile("`([\\w/]+\\.go)`")
	named := regexp.MustCompile("`(Test\\w+)")
	for _, path := range records {
		text, file := readPage(t, path), filepath.Base(path)
		head, _, _ := strings.Cut(text, "\n")
		number, title, _ := strings.Cut(strings.TrimPrefix(head, "# "), ". ")
		if !strings.HasPrefix(file, number+"-") {
			t.Errorf("%s: the title has the number %q", path, number)
		}
		if !strings.Contains(index, fmt.Sprintf("- [%s](%s) %s\n", number, file, title)) {
			t.Errorf("docs/decisions/README.md does not list %s %q", file, title)
		}
		after := text
		for _, part := range []string{"\nStatus: ", "\n## Context\n", "\n## Decision\n", "\n## Alternatives and price\n", "\n## Held by\n"} {
			var found bool
			if _, after, found = strings.Cut(after, part); !found {
				t.Errorf("%s: no %q in its place", path, strings.TrimSpace(part))
			}
		}
		for _, m := range files.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(sources, func(source string) bool { return source == m[1] || strings.HasSuffix(source, "/"+m[1]) }) {
				t.Errorf("%s: no file %s", path, m[1])
			}
		}
		for _, m := range named.FindAllStringSubmatch(after, -1) {
			exists := slices.Contains(tests, m[1])
			if strings.HasSuffix(m[1], "_") {
				exists = slices.ContainsFunc(tests, func(name string) bool { return strings.HasPrefix(name, m[1]) })
			}
			if !exists {
				t.Errorf("%s: no test %s", path, m[1])
			}
		}
	}
	if listed := strings.Count(index, "\n- ["); listed != len(records) {
		t.Errorf("docs/decisions/README.md lists %d decisions, there are %d", listed, len(records))
	}
}
