package skeleton

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// written names the methods that a child process of this test implements.
const written = "SKELETON_WRITTEN"

const guide = "../../../docs/how-to/write-a-provider.md"

// operation turns a method's name into the name of its faults: FetchTurns into "fetch turns".
func operation(method string) faulty.Op {
	spaced := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(method, "$1 $2")
	return faulty.Op(strings.ToLower(spaced))
}

// TestSuiteOnStep runs the suite on a provider that implements only some methods. It is the child of TestSteps.
func TestSuiteOnStep(t *testing.T) {
	names, ok := os.LookupEnv(written)
	if !ok {
		t.Skip("TestSteps runs it")
	}
	methods := map[faulty.Op]bool{}
	for name := range strings.FieldsSeq(names) {
		methods[operation(name)] = true
	}
	validations.Run(t, func(t *testing.T) provider.Provider {
		plan := faulty.NewPlan(1)
		for _, op := range []faulty.Op{
			faulty.Create, faulty.Get, faulty.Steer, faulty.FetchTurns, faulty.CommitTurn, faulty.ReleaseTurns, faulty.FetchTasks,
			faulty.ReportTasks, faulty.RenewTasks, faulty.Send, faulty.Ask, faulty.FetchAsks, faulty.Answer, faulty.ReadHistory,
			faulty.List, faulty.Count, faulty.Stats, faulty.Delete, faulty.Prune, faulty.DeadLetters, faulty.Lease, faulty.Record,
		} {
			if !methods[op] {
				plan.Add(faulty.Rule{Ops: []faulty.Op{op}, Kind: faulty.Before, Err: fmt.Errorf("%s: not written yet", op)})
			}
		}
		p := faulty.Wrap(memory.New(memory.Options{}), plan)
		t.Cleanup(func() { _ = p.Close() })
		return has(p, methods)
	}, validations.Limit(10*time.Second))
}

// has returns a provider with the core of p and those optional interfaces of which a method is written, in the order of the guide.
func has(p *faulty.Provider, methods map[faulty.Op]bool) provider.Provider {
	switch {
	case methods[faulty.Record]:
		return struct {
			provider.Provider
			provider.Asker
			provider.Lister
			provider.Meter
			provider.Cleaner
			provider.Redriver
			provider.Keeper
		}{p, p, p, p, p, p, p}
	case methods[faulty.Delete]:
		return struct {
			provider.Provider
			provider.Asker
			provider.Lister
			provider.Meter
			provider.Cleaner
			provider.Redriver
		}{p, p, p, p, p, p}
	case methods[faulty.List]:
		return struct {
			provider.Provider
			provider.Asker
			provider.Lister
			provider.Meter
		}{p, p, p, p}
	case methods[faulty.Ask]:
		return struct {
			provider.Provider
			provider.Asker
		}{p, p}
	default:
		return struct{ provider.Provider }{p}
	}
}

// green returns the groups of the suite in which no case fails with only these methods, and the names of all cases.
func green(t *testing.T, methods []string) (groups []string, cases map[string]bool) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuiteOnStep$", "-test.v", "-test.short", "-test.parallel=16") // cases that hang do so in parallel
	child.Env = append(os.Environ(), written+"="+strings.Join(methods, " "))
	out, _ := child.CombinedOutput() // it fails until the last step
	passes := map[string]bool{}
	cases = map[string]bool{}
	for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
		result, name, found := strings.Cut(strings.TrimSpace(scan.Text()), ": TestSuiteOnStep/")
		group, _, isCase := strings.Cut(name, "/")
		if !found || !isCase || !strings.HasPrefix(result, "--- ") {
			continue
		}
		name, _, _ = strings.Cut(name, " ") // the time follows
		cases[name] = true
		if result == "--- SKIP" {
			continue
		}
		if before, known := passes[group]; !known || before {
			passes[group] = result != "--- FAIL"
		}
	}
	if len(passes) == 0 {
		t.Fatalf("the child ran no case:\n%s", out)
	}
	maps.DeleteFunc(passes, func(_ string, ok bool) bool { return !ok })
	return slices.Sorted(maps.Keys(passes)), cases
}

// The guide's table of green groups after each step is right.
func TestSteps(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| \d+ \|([^|]*)\|([^|]*)\|`)
	named := regexp.MustCompile("`([a-z-]+/[a-z-]+)`")
	code := regexp.MustCompile("`([^`]+)`")
	quoted := func(cell string) (words []string) {
		for _, m := range code.FindAllStringSubmatch(cell, -1) {
			words = append(words, m[1])
		}
		return words
	}
	var methods, want []string
	rows := row.FindAllStringSubmatch(string(page), -1)
	for n, cells := range rows {
		methods = append(methods, quoted(cells[1])...)
		want = append(want, quoted(cells[2])...)
		slices.Sort(want)
		methods, want := slices.Clone(methods), slices.Clone(want)
		t.Run(fmt.Sprint("step ", n+1), func(t *testing.T) {
			t.Parallel()
			got, cases := green(t, methods)
			for range 2 { // a busy machine may fail a case that measures a wait; what a step lacks fails each time
				if slices.Equal(got, want) {
					break
				}
				t.Logf("another round: green were %v", got)
				more, _ := green(t, methods)
				got = slices.Compact(slices.Sorted(slices.Values(slices.Concat(got, more))))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, with %v:\ngreen are     %v\nthe table says %v", guide, methods, got, want)
			}
			for _, name := range named.FindAllStringSubmatch(string(page), -1) {
				if !cases[name[1]] && !strings.HasPrefix(name[1], "provider/") {
					t.Errorf("%s names the case %s, which the suite does not have", guide, name[1])
				}
			}
		})
	}
	if len(methods) != 22 {
		t.Errorf("the steps write %d methods, want 22: %v", len(methods), methods)
	}
}

// The guide says of each optional interface what is lost without it.
func TestGuideListsEachInterface(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Optional interfaces")
	names, err := filepath.Glob("../../../provider/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("finding the contract: %v", err)
	}
	found := 0
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, optional := range regexp.MustCompile(`// (\w+) is implemented by `).FindAllSubmatch(source, -1) {
			found++
			if !strings.Contains(section, "\n| `"+string(optional[1])+"` | ") {
				t.Errorf("the table of optional interfaces lacks %s", optional[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d optional interfaces, want at least 15", found)
	}
}
