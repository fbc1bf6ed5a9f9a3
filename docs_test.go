package perdure_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages returns the paths of all pages of documentation.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fencePattern  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inlinePattern = regexp.MustCompile("`[^`\n]*`")
	notAnchor     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the fragments of a page's headings.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(fencePattern.ReplaceAllString(page, "")) {
		if text := strings.TrimLeft(line, "#"); text != line {
			text = notAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			found[strings.ReplaceAll(text, " ", "-")] = true
		}
	}
	return found
}

func TestRelativeLinksOfDocs(t *testing.T) {
	t.Parallel()
	for _, path := range pages(t) {
		text := inlinePattern.ReplaceAllString(fencePattern.ReplaceAllString(readPage(t, path), ""), "")
		for _, match := range linkPattern.FindAllStringSubmatch(text, -1) {
			link := match[1]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			name, fragment, _ := strings.Cut(link, "#")
			target := path
			if name != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link %s leads nowhere", path, link)
			} else if fragment != "" && !anchors(readPage(t, target))[fragment] {
				t.Errorf("%s: link %s: %s has no such heading", path, link, target)
			}
		}
	}
}

// flat returns code without indentation.
func flat(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// Go code in the documentation is a part of a file of this repository, so it is compiled and tested.
func TestGoCodeOfDocsIsCompiled(t *testing.T) {
	t.Parallel()
	var sources []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && len(path) > 1 && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go":
			data, err := os.ReadFile(path)
			sources = append(sources, flat(string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages(t) {
		for _, match := range fencePattern.FindAllStringSubmatch(readPage(t, path), -1) {
			if match[1] != "go" {
				continue
			}
			code, found := flat(match[2]), false
			for _, source := range sources {
				found = found || strings.Contains(source, code)
			}
			if !found {
				t.Errorf("%s: this code is in no Go file of the repository:\n%s", path, match[2])
			}
		}
	}
}
