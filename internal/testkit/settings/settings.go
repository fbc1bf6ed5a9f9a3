// Package settings reads the tables of settings in docs/reference, for the tests that compare them with the code.
package settings

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Row is a row of a table: its cells by the headings of their columns.
type Row map[string]string

// Table returns the rows of the tables under a heading of a page of docs/reference. The keys are the names in
// backquotes in a column. A name with parameters, such as `WithQueue(name)`, counts without them.
func Table(t testing.TB, page, heading, column string) map[string]Row {
	t.Helper()
	found := map[string]Row{}
	var columns []string
	for line := range strings.Lines(section(t, page, heading)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = nil
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if columns == nil {
			columns = cells
			continue
		}
		row := Row{}
		for i := range min(len(cells), len(columns)) {
			row[columns[i]] = cells[i]
		}
		if name := bare(row[column]); name != "" {
			found[name] = row
		}
	}
	if len(found) == 0 {
		t.Fatalf("docs/reference/%s has no table with a column %q under %q", page, column, heading)
	}
	return found
}

// bare returns the name in backquotes that a cell is, or "" if it is anything else.
func bare(cell string) string {
	name := strings.Trim(cell, "`")
	if name == cell {
		return ""
	}
	name, _, _ = strings.Cut(name, "(")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// section returns the text under a heading, or the whole page for "".
func section(t testing.TB, page, heading string) string {
	t.Helper()
	text := string(read(t, filepath.Join(Root(t), "docs", "reference", page)))
	if heading == "" {
		return text
	}
	_, rest, ok := strings.Cut(text, "# "+heading+"\n")
	if !ok {
		t.Fatalf("docs/reference/%s has no heading %q", page, heading)
	}
	body, _, _ := strings.Cut(rest, "\n#")
	return body
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Root returns the directory of perdure's module, above the package of the running tests. A nested module is a part of it.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if module, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(module), "module github.com/perdure/perdure\n") {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod of perdure above the package: %v", err)
	return ""
}

var figure = regexp.MustCompile(`^([\d.,]+)(?: (ms|s|min|h|KiB|MiB))?(,.*)?$`)

// Figure reads a default as the tables write it, in nanoseconds or bytes if it has a unit. If the cell is no figure, ok
// is false.
func Figure(cell string) (value float64, ok bool) {
	m := figure.FindStringSubmatch(cell)
	if m == nil {
		return 0, false
	}
	unit := map[string]float64{
		"": 1, "ms": float64(time.Millisecond), "s": float64(time.Second), "min": float64(time.Minute), "h": float64(time.Hour), "KiB": 1 << 10, "MiB": 1 << 20,
	}[m[2]]
	n, err := strconv.ParseFloat(strings.ReplaceAll(cmp.Or(strings.TrimRight(m[1], ",."), m[1]), ",", ""), 64)
	return n * unit, err == nil
}
