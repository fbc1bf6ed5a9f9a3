package validations

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/model"
)

// A testCase checks one sentence of the contract.
type testCase struct {
	group  string
	name   string
	rule   string // the sentence, word for word
	run    func(*trial)
	lacks  func(provider.Provider) string // names what the case needs and the provider lacks, "" for nothing; nil: the case needs the core
	within bool                           // the case uses a transaction of the caller
	slow   bool                           // the case fills the store up to a limit: it gets four times the limit, and -short skips it
	across bool                           // the case calls the store through further handles, too
	broad  bool                           // the case calls many methods, so faults of other groups may fail it, too

	hazards []hazard // that the case guards against
}

// breaks names the sentence and the hazards that a failure breaks.
func (c testCase) breaks() string {
	var text strings.Builder
	text.WriteString("the contract says: " + c.rule)
	for _, h := range c.hazards {
		fmt.Fprintf(&text, "\nhazard %d: %s", h.number, h.title)
	}
	return text.String()
}

// cases lists all cases by group.
func cases() []testCase {
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"create", slices.Concat(createCases(), createTextCases(), broad(startMessageCases()), broad(firstCases()))},
		{"send", slices.Concat(sendCases(), broad(sendLevels()), sendRaces())},
		{"fetch-turns", slices.Concat(fetchCases(), aheadCases(), fetchRaces())},
		{"release-turns", slices.Concat(releaseCases(), failurePayloads())},
		{"wait", waitCases()},
		{"fence", fenceCases()},
		{"commit", slices.Concat(commitCases(), broad(atomicCases()))},
		{"close", closeCases()},
		{"deliver", slices.Concat(
			deliverCases(), broad(deliverLevels()), broad(deliverStartMessages()), broad(listenerCases()), broad(replyCases()), deliverRaces(),
		)},
		{"execution", slices.Concat(executionCases(), broad(executionLevels()))},
		{"tasks", slices.Concat(taskCases(), begunCases(), rankCases(), expiredTaskCases(), taskRaces())},
		{"max-leased", maxLeasedCases()},
		{"sessions", slices.Concat(sessionCases(), sessionEnds(), sessionMakers(), sessionRaces())},
		{"report", slices.Concat(reportCases(), reportRaces())},
		{"renew", slices.Concat(renewCases(), expiredRenewalCases())},
		{"steer", slices.Concat(
			steerCases(), broad(steerMoveCases()), broad(steerDropCases()), broad(steerNoticeCases()), broad(steerOnceCases()), broad(steerLevels()),
		)},
		{"steer-task", broad(steerTaskCases())},
		{"opener", broad(slices.Concat(openerCases(), prefixCases()))},
		{"mover", broad(slices.Concat(moverCases(), carryCases()))},
		{"ask", slices.Concat(askCases(), askRoutes())},
		{"follow", broad(followCases())},
		{"filter", broad(filterCases())},
		{"list-tasks", broad(listTasksCases())},
		{"failures", broad(failureCases())},
		{"read", slices.Concat(readCases(), readPageRaces())},
		{"clean", slices.Concat(cleanCases(), broad(cleanListeners()), broad(trimCases()), broad(cleanReplies()), cleanRaces(), cleanPageRaces())},
		{"shared", slices.Concat(sharedCases(), sharedPageRaces())},
		{"inspect", inspectCases()},
		{"transactions", slices.Concat(transactionCases(), broad(transactionLevels()), broad(transactionStartMessages()), broad(transactionListener()))},
		{"limits", limitCases()},
		{"unknown", broad(slices.Concat(unknownCases(), unknownStartMessages()))},
		{"payloads", broad(payloadCases())},
		{"texts", broad(textCases())},
		{"values", broad(valueCases())},
		{"edges", broad(edgeCases())},
		{"slices", broad(sliceCases())},
		{"notify", notifyCases()},
		{"migrate", migrateCases()},
		{"handles", broad(handleCases())},
		{"settled", broad(slices.Concat(settledCases(), settledLater(), settledSilent()))},
		{"classes", broad(classCases())},
	}
	var all []testCase
	known := hazards()
	for _, g := range groups {
		for _, c := range g.cases {
			c.group = g.name
			for _, h := range known {
				if h.covers(c) {
					c.hazards = append(c.hazards, h)
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// broad marks cases that call many methods.
func broad(list []testCase) []testCase {
	for i := range list {
		list[i].broad = true
	}
	return list
}

type options struct {
	limit time.Duration
	skip  map[string]string
	begin beginTx // nil: the suite cannot begin transactions of a caller
	pace  int     // how much longer short durations become

	part, parts uint32 // the cases that run

	handles []func(t *testing.T, first provider.Provider) provider.Provider
}

type beginTx func(ctx context.Context, p provider.Provider) (Transaction, error)

// Option changes how Run works.
type Option func(*options)

// Limit is the longest time that one case may take; 2 minutes if not given. Cases that fill the store up to a limit may take
// four times as long.
func Limit(d time.Duration) Option { return func(o *options) { o.limit = d } }

// Skip skips the case "group/name". The test log shows the reason.
func Skip(name, reason string) Option { return func(o *options) { o.skip[name] = reason } }

// Part leaves out all cases of a table but the i-th of n parts, counted from 0, for a first, quick run: what passes a part may
// still break the contract. The name of a case tells its part. Cases on random sequences of calls and on several handles run in
// each part. Part panics if i is not below n.
func Part(i, n int) Option {
	if i < 0 || i >= n {
		panic(fmt.Sprintf("validations.Part(%d, %d): there is no such part", i, n))
	}
	return func(o *options) { o.part, o.parts = uint32(i), uint32(n) }
}

// leavesOut reports whether a case belongs to another part.
func (o *options) leavesOut(c testCase) bool {
	return crc32.ChecksumIEEE([]byte(c.group+"/"+c.name))%o.parts != o.part
}

// Run checks a provider against the whole contract. open makes a new, empty provider for each case and cleans up through t.
func Run(t *testing.T, open func(t *testing.T) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{limit: 2 * time.Minute, skip: map[string]string{}, parts: 1}
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range cases() {
		if o.leavesOut(c) {
			continue
		}
		t.Run(c.group+"/"+c.name, func(t *testing.T) { runCase(t, c, open, &o, false) })
	}
	runSpread(t, open, &o)
	t.Run(drawn, func(t *testing.T) {
		if reason, ok := o.skip[drawn]; ok {
			t.Skip(reason)
		}
		if _, can := provider.As[provider.Cleaner](open(t)); !can {
			t.Skip("the provider has no provider.Cleaner: the sequences would use a key twice")
		}
		t.Parallel()
		model.Quick(t, open, model.Handles(o.modelHandles()...))
	})
}

// runCase runs a case in a test of its own. With spread each of its calls draws its handle.
func runCase(t *testing.T, c testCase, open func(t *testing.T) provider.Provider, o *options, spread bool) {
	t.Helper()
	if reason, ok := o.skip[c.group+"/"+c.name]; ok {
		t.Skip(reason)
	}
	if c.slow && testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	p := open(t)
	if c.lacks != nil && c.lacks(p) != "" {
		t.Skipf("the provider has no %s", c.lacks(p))
	}
	if c.within && o.begin == nil {
		t.Skip("the suite cannot begin a transaction; pass validations.Transactions")
	}
	limit := o.limit
	if c.slow {
		limit *= 4
	}
	v := judge(c, max(1, o.pace), func(c testCase, pace int) (*trial, []string) {
		if p == nil {
			p = open(t)
		}
		run := &trial{Full: provider.FullOf(atPace(p, pace)), beginTx: o.begin, times: pace, spread: spread}
		for _, another := range o.handles {
			if spread || c.across {
				run.handles = append(run.handles, provider.FullOf(atPace(another(t, p), pace)))
			}
		}
		p = nil // another run gets another store
		return run, execute(t.Context(), c, run, limit)
	})
	if len(v.failures) == 0 && v.lacks != "" {
		t.Skipf("the provider has no %s", v.lacks)
	}
	for _, f := range v.failures {
		t.Error(f)
	}
	if len(v.failures) > 0 {
		t.Error(c.breaks())
	}
	if v.slow != "" {
		t.Log(v.slow)
	}
}

// drawn is the name of the case that compares random sequences of calls with the model.
const drawn = "model"

// execute runs one case and returns its failures. It takes no testing.T, so that tests can check the suite.
func execute(ctx context.Context, c testCase, t *trial, limit time.Duration) []string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.ctx, t.store, t.trace = ctx, t.Full, newTracer(t.Full)
	if t.spread {
		t.trace.handles = append([]*provider.Full{t.Full}, t.handles...)
	}
	t.Full = t.trace.full()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.errorf("panic: %v", r)
			}
		}()
		c.run(t)
	}()
	select {
	case <-done:
	case t.lacks = <-t.trace.lacking:
		cancel() // ends the other goroutines of the case
	case <-ctx.Done():
		t.errorf("the case hangs: still running after %v", limit)
	}
	if t.lacks == "" {
		select {
		case t.lacks = <-t.trace.lacking:
		default:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}
