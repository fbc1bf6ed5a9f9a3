package perdure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var stepRow = regexp.MustCompile("(?m)^\\| (\\d+)\\. .* \\| `([^`]+)` \\| `([^`]+)` \\|$")

// namesOf returns what a file declares: functions, types, and methods as Type.method.
func namesOf(path string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			found[receiverOf(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					found[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						found[name.Name] = true
					}
				}
			}
		}
	}
	return found, nil
}

// receiverOf returns the type of a method's receiver and a dot, or "" for a function.
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	expr := fn.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}

// section returns what stands under a heading of a page, up to the next heading of the same depth.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(readPage(t, page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	depth, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+depth+" ")
	return text
}

// Every step of a path in ARCHITECTURE.md and of a recipe in CONTRIBUTING.md names an existing function, type or constant. The steps are
// numbered from 1.
func TestStepsOfPagesExist(t *testing.T) {
	t.Parallel()
	tables := []struct{ page, heading string }{
		{"ARCHITECTURE.md", "## A turn, from Start to Wait"},
		{"ARCHITECTURE.md", "## An update"},
		{"ARCHITECTURE.md", "## A commit in a store"},
		{"CONTRIBUTING.md", "### A field of an event"},
		{"CONTRIBUTING.md", "### A sentence of the provider contract"},
		{"CONTRIBUTING.md", "### A call of the client"},
		{"CONTRIBUTING.md", "### A command"},
		{"CONTRIBUTING.md", "### A column of the instance row"},
	}
	for _, table := range tables {
		text := section(t, table.page, table.heading)
		rows := stepRow.FindAllStringSubmatch(text, -1)
		if lines := strings.Count(text, "\n| ") - 2; lines != len(rows) || lines < 1 || lines > 12 { // without the head of the table
			t.Errorf("%q has %d rows, %d in the form | n. step | `file` | `name` |; at most 12 are allowed", table.heading, lines, len(rows))
		}
		for i, row := range rows {
			if row[1] != strconv.Itoa(i+1) {
				t.Errorf("%q: step %d has the number %s", table.heading, i+1, row[1])
			}
			switch names, err := namesOf(row[2]); {
			case err != nil:
				t.Errorf("%q, step %s: reading %s: %v", table.heading, row[1], row[2], err)
			case !names[row[3]]:
				t.Errorf("%q, step %s: %s declares no %s", table.heading, row[1], row[2], row[3])
			}
		}
	}
}

// Every word of the vocabulary is the name of a type, function or constant in the package that its row names.
func TestVocabularyIsInTheCode(t *testing.T) {
	t.Parallel()
	packages := map[string][]string{} // the last element of the path: the folders
	for folder := range packageFolders(t) {
		packages[path.Base(folder)] = append(packages[path.Base(folder)], folder)
	}
	rows := regexp.MustCompile("(?m)^\\| ([^|]+) \\| [^|]+ \\| `([^`]+)` \\|$").FindAllStringSubmatch(section(t, "ARCHITECTURE.md", "## Vocabulary"), -1)
	if len(rows) < 25 || len(rows) > 40 {
		t.Errorf("%d words, want 25 to 40", len(rows))
	}
	for _, row := range rows {
		pkg, name, _ := strings.Cut(row[2], ".")
		found := false
		for _, folder := range packages[pkg] {
			files, err := filepath.Glob(filepath.Join(folder, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				names, err := namesOf(file)
				if err != nil {
					t.Fatal(err)
				}
				found = found || names[name]
			}
		}
		if !found {
			t.Errorf("%s: no package %s declares %s", row[1], pkg, name)
		}
	}
}

// packageFolders returns the folders with Go code, by their paths with slashes.
func packageFolders(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if filepath.Ext(file) == ".go" && filepath.Dir(file) != "." {
			found[filepath.ToSlash(filepath.Dir(file))] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// partsOfTheMap returns the parts from top to bottom, and the place of each folder that they name.
func partsOfTheMap(t *testing.T) (parts []string, of map[string]int) {
	t.Helper()
	of = map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| (`.*`) \\|$").FindAllStringSubmatch(section(t, "ARCHITECTURE.md", "## Eight parts"), -1) {
		for folder := range strings.SplitSeq(row[2], ", ") {
			folder = strings.Trim(folder, "`")
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				t.Errorf("part %s: no folder %s", row[1], folder)
			}
			if before, twice := of[folder]; twice {
				t.Errorf("%s is of %s and of %s", folder, parts[before], row[1])
			}
			of[folder] = len(parts)
		}
		parts = append(parts, row[1])
	}
	return parts, of
}

// placeOf returns the part of a package: that of its folder, or of the nearest folder above it.
func placeOf(folder string, of map[string]int) (place int, found bool) {
	for !found && folder != "." {
		place, found = of[folder]
		folder = path.Dir(folder)
	}
	return place, found
}

// Every package belongs to one of the eight parts, and every part names folders that exist.
func TestEveryPackageHasAPart(t *testing.T) {
	t.Parallel()
	parts, of := partsOfTheMap(t)
	if len(parts) != 8 {
		t.Errorf("%d parts, want 8", len(parts))
	}
	for folder := range packageFolders(t) {
		if _, found := placeOf(folder, of); !found {
			t.Errorf("%s belongs to no part", folder)
		}
	}
}

// A package imports only packages of its own part or of parts below.
func TestPartsImportDownwards(t *testing.T) {
	t.Parallel()
	parts, of := partsOfTheMap(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		importer, ours := strings.CutPrefix(words[0], module)
		if !ours {
			continue // the root has no code
		}
		from, _ := placeOf(importer, of)
		for _, imported := range words[1:] {
			if name, ours := strings.CutPrefix(imported, module); ours {
				if to, _ := placeOf(name, of); to < from {
					t.Errorf("%s (%s) imports %s (%s)", importer, parts[from], name, parts[to])
				}
			}
		}
	}
}

// The map stays one that is read in a quarter of an hour.
func TestArchitectureIsShort(t *testing.T) {
	t.Parallel()
	if size := len(readPage(t, "ARCHITECTURE.md")); size > 12<<10 {
		t.Errorf("ARCHITECTURE.md has %d bytes, at most %d are allowed", size, 12<<10)
	}
}
