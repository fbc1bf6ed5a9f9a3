package perdurevet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The rules, by the names that findings end with.
const (
	ruleClock     = "clock"
	ruleRandom    = "random"
	ruleIO        = "io"
	rulePrint     = "print"
	ruleGoroutine = "goroutine"
	ruleBlocking  = "blocking"
	ruleGlobal    = "global"
	ruleMapOrder  = "maporder"
	ruleFuture    = "future"
	ruleScope     = "scope"
	ruleSignature = "signature"
	ruleContinue  = "continue"
	ruleLate      = "late"
	ruleHandler   = "handler"
	ruleOK        = "ok"
)

// Rules returns the names of all rules.
func Rules() []string {
	return []string{
		ruleClock, ruleRandom, ruleIO, rulePrint, ruleGoroutine, ruleBlocking, ruleGlobal, ruleMapOrder,
		ruleFuture, ruleScope, ruleSignature, ruleContinue, ruleLate, ruleHandler, ruleOK,
	}
}

const explanation = `check orchestration code of perdure

It finds what a replay would do otherwise, such as time.Now, goroutines and range over a map that leads to calls, and calls
of package orchestration that cannot mean what they say. The comment "//perdure:ok reason" silences a line.`

// New returns the analyzer. Its flags are skip, with names of rules to leave out, and tests, which is false if findings in files of tests do
// not count, those of examples aside.
func New() *analysis.Analyzer {
	s := &settings{}
	a := &analysis.Analyzer{
		Name:      "perdurevet",
		Doc:       explanation,
		URL:       "https://pkg.go.dev/github.com/perdure/perdure/perdurevet",
		Run:       s.run,
		FactTypes: []analysis.Fact{new(effects)},
	}
	a.Flags.Var(&s.skip, "skip", "rules to leave out, separated by commas: "+strings.Join(Rules(), ", "))
	a.Flags.BoolVar(&s.tests, "tests", true, "report findings in files of tests, too; if not, then only in those of examples, example*_test.go")
	return a
}

type settings struct {
	skip  skipped
	tests bool
}

// skipped lists the rules that are left out. It is the value of a flag.
type skipped []string

// String implements [flag.Value].
func (s *skipped) String() string { return strings.Join(*s, ",") }

// Set implements [flag.Value].
func (s *skipped) Set(text string) error {
	*s = nil
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(Rules(), name) {
			return fmt.Errorf("no rule is named %q: give some of %s", name, strings.Join(Rules(), ", "))
		}
		*s = append(*s, name)
	}
	return nil
}

func (s *settings) run(pass *analysis.Pass) (any, error) {
	if !ours(pass) {
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	c := &checker{
		pass: pass, skipped: s.skip, tests: s.tests, silent: silences(pass), denials: denials(), decls: declared(pass),
		literals: map[*types.Var]*ast.FuncLit{}, taken: map[*ast.FuncLit]literal{},
		selected: map[ast.Node]bool{}, excused: map[ast.Node]bool{}, reached: map[*types.Func]effects{},
	}
	units := c.collect()
	c.reach(units)
	for _, u := range units {
		c.check(u)
	}
	c.lateContinues(units)
	c.signatures()
	c.unusedSilences()
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// checker checks one package.
type checker struct {
	pass    *analysis.Pass
	skipped skipped
	tests   bool
	silent  []*silence
	denials map[string]denial

	decls    map[*types.Func]*ast.FuncDecl // of this package, with a body
	literals map[*types.Var]*ast.FuncLit   // that variables hold
	taken    map[*ast.FuncLit]literal      // what calls take literals for
	selected map[ast.Node]bool             // uses of channels in cases of a select
	excused  map[ast.Node]bool             // functions given to a side effect, calls of go statements
	reached  map[*types.Func]effects       // what functions of this package without a Context do
}

// check applies the rules that look at one function.
func (c *checker) check(u *unit) {
	switch u.kind {
	case code:
		c.determinism(u)
		c.mapOrder(u)
		c.dropped(u)
		c.outerScope(u)
		c.continues(u)
	case condition:
		c.determinism(u)
		c.restricted(u)
	case reader, effect:
		c.restricted(u)
	default:
	}
}

// ours reports whether code of the package is the user's: of the main module, and not package orchestration itself. Drivers that know no
// modules show packages of others, too. Of these only users of package orchestration matter.
func ours(pass *analysis.Pass) bool {
	if pass.Pkg.Path() == orchestrationPath {
		return false
	}
	if pass.Module != nil && pass.Module.Path != "" {
		return pass.Module.Version == ""
	}
	return slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == orchestrationPath })
}

// inModule reports whether the driver says that the package is of the main module. Only then do facts cross packages: otherwise calls into
// other modules would be followed.
func inModule(pass *analysis.Pass) bool {
	return pass.Module != nil && pass.Module.Path != "" && pass.Module.Version == ""
}

// reportf reports a finding unless a comment silences it or its rule is left out.
func (c *checker) reportf(rule string, at token.Pos, format string, args ...any) {
	if c.silenced(at) || slices.Contains(c.skipped, rule) || !c.tests && c.inTest(at) {
		return
	}
	c.pass.Report(analysis.Diagnostic{Pos: at, Category: rule, Message: fmt.Sprintf(format, args...) + " (" + rule + ")"})
}

// inTest reports whether a file has tests. Files of examples are documentation.
func (c *checker) inTest(at token.Pos) bool {
	name := filepath.Base(c.pass.Fset.Position(at).Filename)
	return strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "example")
}

// place names a line for a message.
func (c *checker) place(at token.Pos) string {
	p := c.pass.Fset.Position(at)
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}
