package validations

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A brokenRule breaks one sentence of the contract and nothing else.
type brokenRule struct {
	name   string        // describes the break
	caught string        // the case "group/name" that must fail
	racing bool          // only concurrent callers show the break
	wide   bool          // it breaks rules of other groups, too
	breaks func(*mutant) // makes a correct store break the rule
}

// brokenRules lists all mutants.
func brokenRules() []brokenRule {
	return slices.Concat(
		brokenCreate(),
		brokenFirst(),
		brokenSend(),
		brokenFetch(),
		brokenAhead(),
		brokenRelease(),
		brokenWait(),
		brokenFence(),
		brokenCommit(),
		brokenClose(),
		brokenDeliver(),
		brokenExecution(),
		brokenTasks(),
		brokenBegun(),
		brokenRank(),
		brokenPlaces(),
		brokenSessions(),
		brokenReport(),
		brokenRenew(),
		brokenSteer(),
		brokenMoves(),
		brokenDrops(),
		brokenNotices(),
		brokenOnce(),
		brokenTaskSteering(), brokenMovers(),
		brokenOpening(),
		brokenPrefixes(),
		brokenAsk(),
		brokenFollow(),
		brokenFilter(),
		brokenTaskLists(),
		brokenFailures(),
		brokenRead(),
		brokenClean(),
		brokenShared(),
		brokenInspect(),
		brokenTransactions(),
		brokenLimits(),
		brokenRaces(),
		brokenUnknown(),
		brokenPayloads(),
		brokenTexts(),
		brokenValues(),
		brokenAtomic(),
		brokenPaging(),
		brokenExpiry(),
		brokenEdges(),
		brokenSizes(),
		brokenNames(),
		brokenPages(),
		brokenMessages(),
		brokenLevels(),
		brokenStartMessages(),
		brokenListeners(),
		brokenReplies(),
		brokenSlices(),
		brokenNotify(),
		brokenMigrate(),
		brokenHandles(),
		brokenSettled(),
		brokenClasses(),
		brokenKeys(),
		brokenKept(),
		brokenSettledLater(),
		brokenSilence(),
		brokenLimited(),
		brokenDetours(),
		brokenRows(),
		brokenRefusals(),
	)
}

var (
	allOthers = flag.Bool("validations.all", false, "run each mutant against all cases of other groups, not only some")
	othersBy  = flag.Uint64("validations.seed", 0, "choose these cases of other groups again; 0: choose anew")
)

// someOthers is how many cases of other groups each mutant must pass in an ordinary run.
const someOthers = 5

// TestSuiteCatchesMutants checks that each mutant fails its case and passes cases of other groups, so that it breaks nothing else.
// A racing mutant also passes all cases of its own group if the callers run one after the other.
func TestSuiteCatchesMutants(t *testing.T) {
	t.Parallel()
	seed := *othersBy
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-validations.seed=%d", seed)
	all := cases()
	const oneIn = 8 // of the quick run: all mutants take minutes under the race detector, and it hides those that need a race
	draw := rand.New(rand.NewPCG(seed, 0))
	for _, broken := range brokenRules() {
		if testing.Short() && (broken.racing || draw.IntN(oneIn) > 0) {
			continue
		}
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(all, func(c testCase) bool { return c.group+"/"+c.name == broken.caught })
			if at < 0 {
				t.Fatalf("there is no case %s", broken.caught)
			}
			failures := attempt(t, all[at], broken.breaks, false)
			if len(failures) == 0 {
				t.Fatalf("%s passes, want it to fail", broken.caught)
			}
			t.Logf("%s: %s", broken.caught, failures[0])
			for _, c := range all {
				if broken.racing && c.group == all[at].group {
					passes(t, c, broken.breaks, true)
				}
			}
			if broken.wide {
				return
			}
			for _, c := range others(all, all[at].group, broken.name, seed) {
				if broken.racing && strings.Contains(c.name, "racing") {
					continue // races of other groups may fail, too
				}
				passes(t, c, broken.breaks, false)
			}
		})
	}
}

// others chooses cases of other groups, without broad and slow ones. Broad cases see more than their own rule.
func others(all []testCase, group, mutant string, seed uint64) []testCase {
	list := slices.DeleteFunc(slices.Clone(all), func(c testCase) bool { return c.group == group || c.broad || c.slow })
	if *allOthers {
		return list
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(mutant))
	dice := rand.New(rand.NewPCG(seed, name.Sum64()))
	dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:longtest.Pick(0, someOthers)]
}

// passes checks that a case does not fail for a mutant.
func passes(t *testing.T, c testCase, breaks func(*mutant), inTurn bool) {
	t.Helper()
	for _, f := range attempt(t, c, breaks, inTurn) {
		t.Errorf("%s/%s fails, too: %s", c.group, c.name, f)
	}
}

// attempt runs a case, in virtual time, against a mutant of memory, and returns its failures.
func attempt(t *testing.T, c testCase, breaks func(*mutant), inTurn bool) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMutant()
		breaks(m)
		failures = execute(t.Context(), c, &trial{Full: provider.FullOf(m), beginTx: m.begin, inTurn: inTurn}, 30*time.Second)
		if err := m.Provider.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * long) //nolint:forbidigo // of a bubble's clock: calls that nobody awaits come back
	})
	return failures
}

// A rule that no mutant breaks may be one that no case checks.
func TestEachRuleHasAMutant(t *testing.T) {
	t.Parallel()
	seen, racing := map[string]bool{}, 0
	rules := map[string]string{}
	for _, c := range cases() {
		rules[c.group+"/"+c.name] = c.rule
	}
	broken := map[string]bool{}
	for _, b := range brokenRules() {
		if seen[b.name] {
			t.Errorf("two mutants are called %q", b.name)
		}
		seen[b.name], broken[rules[b.caught]] = true, true
		if b.racing {
			racing++
		}
	}
	for _, c := range cases() {
		if !broken[c.rule] {
			t.Errorf("%s: no mutant breaks the rule %q", c.group, c.rule)
		}
		broken[c.rule] = true // named only once
	}
	if racing < 6 {
		t.Errorf("%d mutants show only in a race, want at least 6", racing)
	}
	t.Logf("%d mutants, %d of them seen in a race only", len(seen), racing)
}
