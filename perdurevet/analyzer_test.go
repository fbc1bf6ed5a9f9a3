package perdurevet_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/perdure/perdure/perdurevet"
)

// Every rule finds what is bad in the code of testdata/shop, at its line, and nothing else. The message ends with the rule.
func TestRules(t *testing.T) {
	count := map[string]int{}
	for _, result := range analysistest.Run(t, dir(t), perdurevet.New(), "./...") {
		for _, d := range result.Diagnostics {
			count[d.Category]++
			if !strings.HasSuffix(d.Message, " ("+d.Category+")") || !strings.Contains(d.Message, ": ") || !strings.Contains(d.Message, "; ") {
				t.Errorf("message %q does not have the form what: why; instead (%s)", d.Message, d.Category)
			}
		}
	}
	for _, rule := range perdurevet.Rules() {
		if count[rule] == 0 {
			t.Errorf("no finding of rule %s", rule)
		}
		delete(count, rule)
	}
	if len(count) > 0 {
		t.Errorf("findings of rules that nobody named: %v", count)
	}
}

func TestSkip(t *testing.T) {
	a := perdurevet.New()
	if err := a.Flags.Set("skip", "maporder, clock"); err != nil {
		t.Fatal(err)
	}
	// A comment that silences a rule that is left out has its use nevertheless.
	got := categories(findings(t, a, "./maporder", "./silences"))
	if want := []string{"ok"}; !slices.Equal(got, want) {
		t.Errorf("with -skip the rules %v have findings, want %v", got, want)
	}
	err := a.Flags.Set("skip", "print,clocks")
	if err == nil || !strings.HasPrefix(err.Error(), `no rule is named "clocks": give some of clock, random, `) {
		t.Errorf("an unknown rule: %v", err)
	}
}

func TestTests(t *testing.T) {
	all, a := len(findings(t, perdurevet.New(), "./intests")), perdurevet.New()
	if err := a.Flags.Set("tests", "false"); err != nil {
		t.Fatal(err)
	}
	found := findings(t, a, "./intests")
	// An example uses a random number, and only tests have a comment that silences nothing.
	if got, want := categories(found), []string{"clock", "random"}; !slices.Equal(got, want) || all <= len(found) {
		t.Errorf("without tests %d findings of %v, want %v; with tests %d", len(found), got, want, all)
	}
}

// dir returns the folder of the module that is checked.
func dir(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// findings runs the analyzer and returns what it reports, whatever the comments expect.
func findings(t *testing.T, a *analysis.Analyzer, patterns ...string) []analysis.Diagnostic {
	t.Helper()
	var said failure
	var found []analysis.Diagnostic
	for _, result := range analysistest.Run(&said, dir(t), a, patterns...) {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		found = append(found, result.Diagnostics...)
	}
	if len(found) == 0 {
		t.Fatalf("no finding: %v", said)
	}
	return found
}

func categories(found []analysis.Diagnostic) []string {
	var names []string
	for _, d := range found {
		names = append(names, d.Category)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// failure keeps what a run complains of.
type failure []string

func (f *failure) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }
