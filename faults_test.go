package perdure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	promisesPage = "docs/explanation/crashes-and-guarantees.md"
	faultsPage   = "docs/reference/faults.md"
)

// plain returns text without marks and line breaks.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("**", "", "`", "").Replace(text)), " ")
}

// statements returns the sentences of text, and the last cell of each row of its tables.
func statements(text string) (all []string) {
	var paragraph []string
	end := func() {
		rest := plain(strings.Join(paragraph, " "))
		for paragraph = nil; rest != ""; {
			at := sentenceEnd.FindStringIndex(rest)
			if at == nil {
				at = []int{len(rest), len(rest)}
			}
			all = append(all, rest[:at[0]])
			rest = strings.TrimSpace(rest[at[0]:])
			rest = strings.TrimLeft(rest, ".?! ")
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|"):
			end()
			if cells := cellsOf(line); !strings.HasPrefix(cells[0], "---") {
				all = append(all, plain(cells[len(cells)-1]))
			}
		case line == "" || strings.HasPrefix(line, "#"):
			end()
		default:
			if bullet, ok := strings.CutPrefix(line, "- "); ok {
				end()
				line = bullet
			}
			paragraph = append(paragraph, line)
		}
	}
	end()
	return all
}

var (
	sentenceEnd = regexp.MustCompile(`[.?!]( |$)`)
	// A sentence with one of these words promises something, unless it stands in promisesNothing.
	promising = regexp.MustCompile(`\b(never|once|nothing|none|no|lost|again|twice|discarded|recognises|recognised|aside|blocks|blocked|ends?|durable)\b`)
	quotation = regexp.MustCompile(`"([^"]+)"`)
	faultRow  = regexp.MustCompile("^((?:`Test\\w+`(?:, )?)+) in (`[\\w/]+`(?: and `[\\w/]+`)*)$")
)

// promisesNothing are sentences that explain, or advise.
func promisesNothing() []string {
	return []string{
		"Activities cannot run exactly once",
		"No one outside the bank can know which of the two happened",
		"If never is better than twice, call it with orchestration.AtMostOnce()",
		"It protects nothing; the fence does",
		"With Cache.Executions set to runtime.Off nothing sticks",
		"For 5 s after a commit only that node fetches it, so that results, events and timers need no replay elsewhere",
		"The commit that schedules an activity also leases it to the same node, if that node has a free slot and left nothing in the queue when it last looked",
		"From the third lost delivery on, the work is a suspect",
		"Some faults are not panics: Go ends the whole process, and no library can prevent that",
		"recursion without end: a goroutine's stack over 1 GB",
		"outcome", "guarantee", "how code gets there",
	}
}

// cellsOf returns the cells of a row of a table.
func cellsOf(row string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells
}

// Each promise of the page about crashes is quoted in the table of faults, next to a fault that attacks it and a test that
// makes the fault. Each quotation stands in that page, and each test exists where the table says.
func TestEachPromiseIsAttacked(t *testing.T) {
	t.Parallel()
	text, _, found := strings.Cut(readPage(t, promisesPage), "\n## How durability is checked\n")
	if !found {
		t.Fatalf("%s has no end of its promises", promisesPage)
	}
	all := statements(text)
	var quoted []string
	rows := 0
	for line := range strings.Lines(readPage(t, faultsPage)) {
		cells := cellsOf(line)
		if !strings.HasPrefix(line, "|") || cells[0] == "fault" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		rows++
		if len(cells) != 3 {
			t.Errorf("%s: a row with %d cells: %s", faultsPage, len(cells), line)
			continue
		}
		checkFaultRow(t, cells[1])
		quotes := quotation.FindAllStringSubmatch(plain(cells[2]), -1)
		if len(quotes) == 0 {
			t.Errorf("%s: %s: no promise is quoted", faultsPage, cells[0])
		}
		for _, q := range quotes {
			if !strings.Contains(plain(text), q[1]) {
				t.Errorf("%s does not say %q", promisesPage, q[1])
			}
			quoted = append(quoted, q[1])
		}
	}
	if rows < 30 {
		t.Errorf("%s has %d rows", faultsPage, rows)
	}
	for _, nothing := range promisesNothing() {
		if !slices.Contains(all, nothing) {
			t.Errorf("%s does not say %q any more", promisesPage, nothing)
		}
	}
	for _, statement := range all {
		attacked := slices.ContainsFunc(quoted, func(q string) bool { return strings.Contains(statement, q) || strings.Contains(q, statement) })
		if promising.MatchString(statement) && !attacked && !slices.Contains(promisesNothing(), statement) {
			t.Errorf("%s promises %q, and %s names no fault that attacks it", promisesPage, statement, faultsPage)
		}
	}
}

// checkFaultRow checks that each test of a row exists in each of its packages.
func checkFaultRow(t *testing.T, cell string) {
	t.Helper()
	m := faultRow.FindStringSubmatch(cell)
	if m == nil {
		t.Errorf("%s: %q names no test in a package", faultsPage, cell)
		return
	}
	for dir := range strings.SplitSeq(m[2], " and ") {
		dir = strings.Trim(dir, "`")
		files, err := filepath.Glob(filepath.FromSlash(dir) + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
		for name := range strings.SplitSeq(m[1], ", ") {
			if name = strings.Trim(name, "`"); !strings.Contains(code.String(), "\nfunc "+name+"(") {
				t.Errorf("%s: no test %s in %s", faultsPage, name, dir)
			}
		}
	}
}
