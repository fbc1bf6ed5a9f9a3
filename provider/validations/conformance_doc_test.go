package validations

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	repository  = "../.."
	conformance = repository + "/docs/reference/conformance.md"
)

// The compared suite has this many modules and rules. Its stress programs are five rules more.
const (
	theirModules = 19
	theirRules   = 213
	theirStress  = "stress_suite"
)

// A module is a table of rules on the page.
type module struct {
	name  string
	count int // as the heading says
	rows  [][2]string
}

// A page is the checked part of docs/reference/conformance.md.
type page struct {
	groups  []string
	hazards []string
	modules []module
}

var (
	heading = regexp.MustCompile(`^### (\w+) \((\d+)\)$`)
	span    = regexp.MustCompile("`([^`]+)`")
)

// readConformance reads the tables of the page.
func readConformance(text string) page {
	var p page
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if found := heading.FindStringSubmatch(line); found != nil {
			count, _ := strconv.Atoi(found[2]) // digits
			p.modules = append(p.modules, module{name: found[1], count: count})
			continue
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| --- ") || len(cells) != 2 {
			continue
		}
		left, right := strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[1], " |")
		switch {
		case section == "Groups":
			p.groups = append(p.groups, strings.Trim(left, "`"))
		case section == "Hazards":
			p.hazards = append(p.hazards, left+" "+right)
		case len(p.modules) > 0 && left != "rule":
			last := &p.modules[len(p.modules)-1]
			last.rows = append(last.rows, [2]string{left, right})
		}
	}
	return p
}

// faults returns the mistakes in the rules of the page. known reports whether a case "group/name" or a test exists.
func (p page) faults(known func(name string) bool) []string {
	var list []string
	faultf := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	modules, rules := 0, 0
	for _, m := range p.modules {
		if m.name != theirStress {
			modules++
			rules += m.count
		}
		if len(m.rows) != m.count {
			faultf("%s has %d rows, and its heading says %d", m.name, len(m.rows), m.count)
		}
		for _, row := range m.rows {
			names := span.FindAllStringSubmatch(row[1], -1)
			resolved := 0
			for _, name := range names {
				switch isTest := regexp.MustCompile(`^(Test|Benchmark)\w+$`).MatchString(name[1]); {
				case !isTest && !strings.Contains(name[1], "/"):
				case known(name[1]):
					resolved++
				default:
					faultf("%s: %q names %s, which does not exist", m.name, row[0], name[1])
				}
			}
			if resolved == 0 && !isReason(row[1]) {
				faultf("%s: %q has neither a case, nor a test, nor a reason", m.name, row[0])
			}
		}
	}
	if modules != theirModules || rules != theirRules {
		faultf("the page has %d modules with %d rules, want %d with %d", modules, rules, theirModules, theirRules)
	}
	return list
}

// isReason reports whether a cell says why there is no case.
func isReason(cell string) bool {
	return strings.HasPrefix(cell, "not ") || strings.HasPrefix(cell, "on purpose not: ")
}

func TestConformancePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(conformance)
	if err != nil {
		t.Fatal(err)
	}
	p := readConformance(string(text))
	known := map[string]bool{}
	var groups, named []string
	for _, c := range cases() {
		known[c.group+"/"+c.name] = true
		if !slices.Contains(groups, c.group) {
			groups = append(groups, c.group)
		}
	}
	for _, name := range testNames(t) {
		known[name] = true
	}
	for _, fault := range p.faults(func(name string) bool { return known[name] }) {
		t.Error(fault)
	}
	if want := append([]string{"group"}, groups...); !slices.Equal(p.groups, want) {
		t.Errorf("the page explains the groups\n%v, there are\n%v", p.groups, want)
	}
	for _, h := range hazards() {
		named = append(named, fmt.Sprintf("%d %s", h.number, h.title))
	}
	if want := append([]string{"hazard what goes wrong"}, named...); !slices.Equal(p.hazards, want) {
		t.Errorf("the page lists the hazards\n%s\nwant\n%s", strings.Join(p.hazards, "\n"), strings.Join(want, "\n"))
	}
}

// testNames returns the names of all tests and benchmarks of the module.
func testNames(t *testing.T) []string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	var names []string
	err := filepath.WalkDir(repository, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(source), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// faults finds incomplete rules on a page.
func TestFaultsOfTheConformancePage(t *testing.T) {
	t.Parallel()
	known := func(name string) bool { return name == "a/b" || name == "TestX" }
	for text, want := range map[string]string{
		"### m (2)\n| rule | here |\n| --- | --- |\n| r | `a/b` |":                      "m has 1 rows, and its heading says 2",
		"### m (1)\n| rule | here |\n| --- | --- |\n| r | `a/c` |":                      `"r" names a/c, which does not exist`,
		"### m (1)\n| rule | here |\n| --- | --- |\n| r | `TestY` |":                    `"r" names TestY, which does not exist`,
		"### m (1)\n| rule | here |\n| --- | --- |\n| r | some day |":                   "nor a reason",
		"### m (1)\n| rule | here |\n| --- | --- |\n| r | `Get` |":                      "nor a reason",
		"### m (1)\n| rule | here |\n| --- | --- |\n| r | not needed: `a/b`, `TestX` |": "the page has 1 modules with 1 rules",
	} {
		if faults := strings.Join(readConformance(text).faults(known), "\n"); !strings.Contains(faults, want) {
			t.Errorf("faults of the page\n%s\nare %q, want %q", text, faults, want)
		}
	}
}
