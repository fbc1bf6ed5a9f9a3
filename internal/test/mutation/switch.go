package mutation

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Variable is the environment variable that turns on one mutant of the sources that Switched returns: its number, from 1 on.
const Variable = "PERDURE_MUTANT"

// activeMutant is the name of the variable that each broken package gets.
const activeMutant = "perdureActiveMutant"

// Switched returns the files of the module with all mutants in them, by path relative to the module. One build serves all mutants:
// the environment variable Variable chooses the one that a process runs, and without it the code is whole. A function that mutants
// break calls, if one of them is chosen, its broken copy.
//
// The number of mutants[i] is i+1. Switched returns by number the mutants that it left out: they break something that is not the body
// of a function.
func (m *Module) Switched(mutants []Mutant) (sources map[string]string, left map[int]error, err error) {
	changed, left := make(map[string]*switchedFile), make(map[int]error)
	for i, mutant := range mutants {
		copies, err := m.copies(mutant, i+1)
		if err != nil {
			left[i+1] = err
			continue
		}
		for _, c := range copies {
			f := changed[c.file.path]
			if f == nil {
				f = &switchedFile{file: c.file, functions: make(map[int]*switchedFunc), imports: make(map[string]bool)}
				changed[c.file.path] = f
			}
			f.add(c)
		}
	}
	sources = make(map[string]string)
	for name, f := range changed {
		text, pkg, err := f.text()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sources[name] = text
		sources[path.Join(path.Dir(name), "perdure_active_mutant.go")] = "package " + pkg + "\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n" +
			"var " + activeMutant + ", _ = strconv.Atoi(os.Getenv(\"" + Variable + "\"))\n"
	}
	return sources, left, nil
}

// brokenCopy is a function with the changes of one mutant.
type brokenCopy struct {
	number  int // of the mutant
	file    *file
	begin   int    // where the function stands, at its keyword func
	text    string // of the broken declaration
	imports []string
}

// copies returns the broken functions of a mutant.
func (m *Module) copies(mutant Mutant, number int) ([]brokenCopy, error) {
	type place struct {
		file  *file
		begin int
	}
	edits, imports := make(map[place][]edit), make(map[*file][]string)
	for _, c := range mutant.Changes {
		f, at, err := m.find(c)
		if err != nil {
			return nil, err
		}
		decl, err := declarationAt(f.source, at)
		if err != nil {
			return nil, err
		}
		p := place{f, decl.begin}
		edits[p] = append(edits[p], edit{span{at.begin - decl.begin, at.end - decl.begin}, c.New})
		imports[f] = append(imports[f], c.Imports...)
	}
	var out []brokenCopy
	for p, list := range edits {
		decl, err := declarationAt(p.file.source, span{p.begin, p.begin})
		if err != nil {
			return nil, err
		}
		text, err := apply(p.file.source[decl.begin:decl.end], list)
		if err != nil {
			return nil, err
		}
		if err := sameSignature(p.file.source[decl.begin:decl.end], text); err != nil {
			return nil, err
		}
		out = append(out, brokenCopy{number, p.file, p.begin, text, imports[p.file]})
	}
	return out, nil
}

// declarationAt returns where the function stands whose declaration, from the keyword func on, has the span in it.
func declarationAt(source string, at span) (span, error) {
	parsed, set, err := parse(source)
	if err != nil {
		return span{}, err
	}
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		in := span{set.Position(fn.Type.Func).Offset, set.Position(fn.End()).Offset}
		if in.begin <= at.begin && at.end <= in.end {
			if name := fn.Name.Name; fn.Recv == nil && (name == "init" || name == "main") {
				return span{}, errors.New("a function " + name + " cannot be called")
			}
			return in, nil
		}
	}
	return span{}, errors.New("it does not stand in a function")
}

func parse(source string) (*ast.File, *token.FileSet, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("parsing: %w", err)
	}
	return parsed, set, nil
}

const clause = "package p;"

// parseFunc parses the declaration of one function. Offsets count from its begin.
func parseFunc(text string) (fn *ast.FuncDecl, offset func(token.Pos) int, err error) {
	parsed, set, err := parse(clause + text)
	if err != nil {
		return nil, nil, err
	}
	if len(parsed.Decls) == 1 {
		fn, _ = parsed.Decls[0].(*ast.FuncDecl)
	}
	if fn == nil || fn.Body == nil {
		return nil, nil, errors.New("it is not one function any more")
	}
	return fn, func(p token.Pos) int { return set.Position(p).Offset - len(clause) }, nil
}

// sameSignature returns an error unless two functions can be called alike.
func sameSignature(whole, broken string) error {
	head := func(text string) (string, error) {
		fn, offset, err := parseFunc(text)
		if err != nil {
			return "", err
		}
		return text[:offset(fn.Body.Lbrace)], nil
	}
	a, err := head(whole)
	if err != nil {
		return err
	}
	b, err := head(broken)
	if err != nil {
		return err
	}
	if a != b {
		return errors.New("the signature of the function is another one")
	}
	return nil
}

// switchedFile is a file with broken copies of its functions.
type switchedFile struct {
	file      *file
	functions map[int]*switchedFunc // by where they begin
	imports   map[string]bool
}

type switchedFunc struct{ copies []brokenCopy }

func (f *switchedFile) add(c brokenCopy) {
	fn := f.functions[c.begin]
	if fn == nil {
		fn = new(switchedFunc)
		f.functions[c.begin] = fn
	}
	fn.copies = append(fn.copies, c)
	for _, name := range c.imports {
		f.imports[name] = true
	}
}

// text returns the source with all copies, and the name of the package. Each line that was there keeps its number.
func (f *switchedFile) text() (text, pkg string, err error) {
	parsed, _, err := parse(f.file.source)
	if err != nil {
		return "", "", err
	}
	var edits []edit
	var copies strings.Builder
	for begin, fn := range f.functions {
		decl, err := declarationAt(f.file.source, span{begin, begin})
		if err != nil {
			return "", "", err
		}
		changes, err := branches(f.file.source[decl.begin:decl.end], fn.copies)
		if err != nil {
			return "", "", err
		}
		for _, e := range changes {
			edits = append(edits, edit{span{begin + e.begin, begin + e.end}, e.text})
		}
		for _, c := range fn.copies {
			renamed, err := rename(c)
			if err != nil {
				return "", "", err
			}
			copies.WriteString("\n" + renamed + "\n")
		}
	}
	text, err = apply(f.file.source, edits)
	if err != nil {
		return "", "", err
	}
	return withImports(text, f.imports) + copies.String(), parsed.Name.Name, nil
}

// copyName returns the name of a broken copy. It is not exported, so that no test that looks at exported names sees it.
func copyName(number int, name string) string { return fmt.Sprintf("mutant%d_%s", number, name) }

// rename returns the broken declaration under the name of the copy.
func rename(c brokenCopy) (string, error) {
	fn, offset, err := parseFunc(c.text)
	if err != nil {
		return "", err
	}
	return apply(c.text, []edit{{span{offset(fn.Name.Pos()), offset(fn.Name.End())}, copyName(c.number, fn.Name.Name)}})
}

// branches returns the edits of a function that call its broken copies: names for what has none, and a switch at its begin.
func branches(text string, copies []brokenCopy) ([]edit, error) {
	fn, offset, err := parseFunc(text)
	if err != nil {
		return nil, err
	}
	var edits []edit
	named := func(list *ast.FieldList, prefix string) (names []string) {
		if list == nil {
			return nil
		}
		for i, field := range list.List {
			if len(field.Names) == 0 {
				name := fmt.Sprintf("%s%d", prefix, i)
				begin := offset(field.Type.Pos())
				edits, names = append(edits, edit{span{begin, begin}, name + " "}), append(names, name)
			}
			for j, given := range field.Names {
				name := given.Name
				if name == "_" {
					name = fmt.Sprintf("%s%d_%d", prefix, i, j)
					edits = append(edits, edit{span{offset(given.Pos()), offset(given.End())}, name})
				}
				names = append(names, name)
			}
		}
		return names
	}
	call := func(number int) string { return copyName(number, fn.Name.Name) }
	if of := named(fn.Recv, "mutantReceiver"); len(of) > 0 {
		call = func(number int) string { return of[0] + "." + copyName(number, fn.Name.Name) }
	} else if fn.Type.TypeParams != nil {
		types := strings.Join(named(fn.Type.TypeParams, "_"), ", ")
		call = func(number int) string { return copyName(number, fn.Name.Name) + "[" + types + "]" }
	}
	args := strings.Join(named(fn.Type.Params, "mutantParam"), ", ")
	if params := fn.Type.Params.List; len(params) > 0 {
		if _, variadic := params[len(params)-1].Type.(*ast.Ellipsis); variadic {
			args += "..."
		}
	}
	var cases strings.Builder
	for _, c := range copies {
		of := fmt.Sprintf("%s(%s)", call(c.number), args)
		if fn.Type.Results != nil {
			of = "return " + of
		} else {
			of += "; return"
		}
		fmt.Fprintf(&cases, " case %d: %s;", c.number, of)
	}
	begin := offset(fn.Body.Lbrace) + 1
	return append(edits, edit{span{begin, begin}, " switch " + activeMutant + " {" + cases.String() + " };"}), nil
}

// apply returns the text with the edits, which must not touch each other.
func apply(text string, edits []edit) (string, error) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b edit) int { return b.begin - a.begin }) // from the end: the places before it stay
	last := len(text)
	for _, e := range edits {
		if e.end > last {
			return "", errors.New("two changes touch the same text")
		}
		text, last = text[:e.begin]+e.text+text[e.end:], e.begin
	}
	return text, nil
}
