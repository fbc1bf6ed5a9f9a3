package perdure_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const coveragePage = "docs/reference/coverage.md"

var (
	coveredBy   = regexp.MustCompile("^`((?:Test|Fuzz|Example)\\w*)((?:/[\\w-]+)*)` in `([\\w./-]+)`$")
	coverageWhy = regexp.MustCompile(`^no: .*\]\([^)\s]+\).*\.$`)
	coverageYet = regexp.MustCompile(`^not yet: \S+`)
)

// Each row of the page of coverage has tests, a reason with a link, or says what is missing. Each test is there, and runs.
func TestCoverageHasTests(t *testing.T) {
	t.Parallel()
	faults, rows := coverageFaults(readPage(t, coveragePage), testsIn)
	for _, fault := range faults {
		t.Errorf("%s: %s", coveragePage, fault)
	}
	t.Logf("%d rows with tests, %d with a reason, %d not yet", rows["test"], rows["no"], rows["yet"])
	if rows["test"] < 500 {
		t.Errorf("%s: %d rows have tests, and the lists have more", coveragePage, rows["test"])
	}
}

// coverageFaults returns what is wrong with the rows of a page, and how many rows have tests, a reason, or neither.
func coverageFaults(page string, in func(dir string) (tests, error)) (faults []string, rows map[string]int) {
	found, seen, heading := map[string]tests{}, map[string]bool{}, ""
	rows = map[string]int{}
	for line := range strings.Lines(page) {
		cells := cellsOf(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(line)
			continue
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(cells[0], "---") || slices.Contains(cells, "what it asks"):
			continue
		case seen[heading+cells[0]]:
			faults = append(faults, fmt.Sprintf("%s: %s stands twice", heading, cells[0]))
		}
		seen[heading+cells[0]] = true
		switch shown := cells[len(cells)-1]; {
		case coverageWhy.MatchString(shown):
			rows["no"]++
		case coverageYet.MatchString(shown):
			rows["yet"]++
		case strings.HasPrefix(shown, "no"):
			faults = append(faults, fmt.Sprintf("%s: %q is no sentence with a link to the reason, and does not say what is missing", cells[0], shown))
		default:
			rows["test"]++
			for test := range strings.SplitSeq(shown, "; ") {
				if why := unknownTest(test, found, in); why != "" {
					faults = append(faults, fmt.Sprintf("%s: %s: %s", cells[0], test, why))
				}
			}
		}
	}
	return faults, rows
}

// unknownTest returns why what is cited is no test that runs; "" if it is one.
func unknownTest(cited string, found map[string]tests, in func(dir string) (tests, error)) (why string) {
	m := coveredBy.FindStringSubmatch(cited)
	if m == nil {
		return "it names no test in a package"
	}
	name, below, dir := m[1], strings.TrimPrefix(m[2], "/"), m[3]
	if found[dir].funcs == nil {
		all, err := in(dir)
		if err != nil {
			return err.Error()
		}
		found[dir] = all
	}
	switch fn := found[dir].funcs[name]; {
	case fn == nil:
		return "the package has no such test"
	case skipsAlways(fn):
		return "it is always skipped"
	case below == "" || name == "TestConformance": // package validations checks the names of its cases
		return ""
	}
	for part := range strings.SplitSeq(below, "/") {
		if !found[dir].texts[part] {
			return "no part of it is " + part
		}
	}
	return ""
}

// tests has the functions of the tests of a package, and the texts in their code with the marks that go test puts in place of spaces.
type tests struct {
	funcs map[string]*ast.FuncDecl
	texts map[string]bool
}

// testsIn reads the tests of a package that Linux builds.
func testsIn(dir string) (tests, error) {
	all := tests{funcs: map[string]*ast.FuncDecl{}, texts: map[string]bool{}}
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return all, err
	}
	for _, entry := range entries {
		built, err := linux.MatchFile(dir, entry.Name())
		if err != nil || !built || !strings.HasSuffix(entry.Name(), "_test.go") {
			continue // no Go file, or one of another system
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return all, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					all.funcs[n.Name.Name] = n
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					all.texts[strings.ReplaceAll(text, " ", "_")] = true
				}
			}
			return true
		})
	}
	return all, nil
}

// skipsAlways reports whether a test does nothing: its code is empty, or it skips without a condition.
func skipsAlways(fn *ast.FuncDecl) bool {
	for _, statement := range fn.Body.List {
		if expr, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := expr.X.(*ast.CallExpr); ok {
				method, ok := call.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) && isParameter(fn, method.X) {
					return true
				}
			}
		}
	}
	return len(fn.Body.List) == 0
}

// isParameter reports whether an expression is the parameter of a test.
func isParameter(fn *ast.FuncDecl, e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	params := fn.Type.Params.List
	return ok && len(params) == 1 && len(params[0].Names) == 1 && params[0].Names[0].Name == id.Name
}

// Each way in which a row can be wrong is found.
func TestCoverageFaultsAreFound(t *testing.T) {
	t.Parallel()
	const code = `package p
func TestRuns(t *testing.T) { if testing.Short() { t.Skip("long") }; longtest.Skip(t); t.Run("a case", nil) }
func TestSkips(t *testing.T) { t.Parallel(); t.Skip("later") }
func TestEmpty(t *testing.T) {}
func (world) TestMethod(t *testing.T) { t.Log() }`
	dir := t.TempDir()
	for name, constraint := range map[string]string{"p_test.go": "", "q_windows_test.go": "", "r_test.go": "//go:build never\n\n"} {
		text := constraint + strings.ReplaceAll(code, "Test", map[string]string{"p": "Test", "q": "TestW", "r": "TestN"}[name[:1]])
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for row, want := range map[string]string{
		"| a | b | `TestRuns` in `p` |":                               "",
		"| a | b | `TestRuns/a_case` in `p`; `TestRuns` in `p` |":     "",
		"| a | b | `TestRuns/a_case` in `p`; `TestGone` in `p` |":     "the package has no such test",
		"| a | b | `TestRuns/another` in `p` |":                       "no part of it is another",
		"| a | b | `TestSkips` in `p` |":                              "it is always skipped",
		"| a | b | `TestEmpty` in `p` |":                              "it is always skipped",
		"| a | b | `TestMethod` in `p` |":                             "no such test",
		"| a | b | `TestWRuns` in `p` |":                              "no such test",
		"| a | b | `TestNRuns` in `p` |":                              "no such test",
		"| a | b | `TestRuns` in `gone` |":                            "no such file",
		"| a | b | TestRuns |":                                        "names no test",
		"| a | b | |":                                                 "names no test",
		"| a | b | no: It is [decided](x.md). |":                      "",
		"| a | b | no: It is decided. |":                              "no sentence with a link",
		"| a | b | not yet: a lock |":                                 "",
		"| a | b | not yet |":                                         "no sentence with a link",
		"| a | b | not yet: a lock |\n| a | c | `TestRuns` in `p` |":  "stands twice",
		"| a | b | not yet: a |\n# Next\n| a | c | not yet: a lock |": "",
	} {
		faults, rows := coverageFaults("# First\n| what it asks | perdure | test |\n| --- | --- | --- |\n"+row+"\n", func(of string) (tests, error) {
			return testsIn(filepath.Join(dir, strings.TrimPrefix(of, "p")))
		})
		if got := strings.Join(faults, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", row, got, want)
		}
		if len(rows) == 0 && want != "no sentence with a link" {
			t.Errorf("%s is no row", row)
		}
	}
}
