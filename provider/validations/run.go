package validations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A testCase checks one sentence of the contract.
type testCase struct {
	group   string
	name    string
	rule    string // the sentence, word for word
	run     func(*trial)
	feature func(provider.Provider) bool // reports whether the provider has the optional feature; nil: every provider has it
	within  bool                         // the case uses a transaction of the caller
	slow    bool                         // the case fills the store up to a limit: it gets four times the limit, and -short skips it
	broad   bool                         // the case calls many methods, so faults of other groups may fail it, too

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
		{"create", slices.Concat(createCases(), createTextCases(), broad(firstCases()))},
		{"send", slices.Concat(sendCases(), sendRaces())},
		{"fetch-turns", slices.Concat(fetchCases(), aheadCases(), fetchRaces())},
		{"release-turns", slices.Concat(releaseCases(), failurePayloads())},
		{"wait", waitCases()},
		{"fence", fenceCases()},
		{"commit", slices.Concat(commitCases(), broad(atomicCases()))},
		{"close", closeCases()},
		{"deliver", slices.Concat(deliverCases(), deliverRaces())},
		{"execution", executionCases()},
		{"tasks", slices.Concat(taskCases(), begunCases(), rankCases(), expiredTaskCases(), taskRaces())},
		{"max-leased", maxLeasedCases()},
		{"sessions", slices.Concat(sessionCases(), sessionEnds(), sessionRaces())},
		{"report", slices.Concat(reportCases(), reportRaces())},
		{"renew", slices.Concat(renewCases(), expiredRenewalCases())},
		{"steer", steerCases()},
		{"ask", askCases()},
		{"read", slices.Concat(readCases(), readPageRaces())},
		{"clean", slices.Concat(cleanCases(), cleanRaces(), cleanPageRaces())},
		{"shared", slices.Concat(sharedCases(), sharedPageRaces())},
		{"inspect", inspectCases()},
		{"transactions", transactionCases()},
		{"limits", limitCases()},
		{"unknown", broad(unknownCases())},
		{"payloads", broad(payloadCases())},
		{"texts", broad(textCases())},
		{"values", broad(valueCases())},
		{"edges", broad(edgeCases())},
		{"slices", broad(sliceCases())},
		{"notify", notifyCases()},
		{"migrate", migrateCases()},
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
	limit  time.Duration
	skip   map[string]string
	begin  beginTx // nil: the suite cannot begin transactions of a caller
	begins bool    // the provider stores the first turns of starts
}

type beginTx func(ctx context.Context, p provider.Provider) (Transaction, error)

// Option changes how Run works.
type Option func(*options)

// Limit is the longest time that one case may take; 2 minutes if not given. Cases that fill the store up to a limit may take
// four times as long.
func Limit(d time.Duration) Option { return func(o *options) { o.limit = d } }

// Skip skips the case "group/name". The test log shows the reason.
func Skip(name, reason string) Option { return func(o *options) { o.skip[name] = reason } }

// FirstTurns makes it a failure if the provider ignores the first turn of a start.
func FirstTurns() Option { return func(o *options) { o.begins = true } }

// Run checks a provider against the whole contract. open makes a new, empty provider for each case and cleans up through t.
func Run(t *testing.T, open func(t *testing.T) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{limit: 2 * time.Minute, skip: map[string]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range cases() {
		name := c.group + "/" + c.name
		t.Run(name, func(t *testing.T) {
			if reason, ok := o.skip[name]; ok {
				t.Skip(reason)
			}
			if c.slow && testing.Short() {
				t.Skip("slow")
			}
			t.Parallel()
			p := open(t)
			if c.feature != nil && !c.feature(p) {
				t.Skip("the provider does not have this optional feature")
			}
			if c.within && o.begin == nil {
				t.Skip("the suite cannot begin a transaction; pass validations.Transactions")
			}
			limit := o.limit
			if c.slow {
				limit *= 4
			}
			failures := execute(t.Context(), c, &trial{Provider: p, beginTx: o.begin, begins: o.begins}, limit)
			for _, f := range failures {
				t.Error(f)
			}
			if len(failures) > 0 {
				t.Error(c.breaks())
			}
		})
	}
}

// execute runs one case and returns its failures. It takes no testing.T, so that tests can check the suite.
func execute(ctx context.Context, c testCase, t *trial, limit time.Duration) []string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.ctx, t.store, t.trace = ctx, t.Provider, &tracer{Provider: t.Provider}
	t.Provider = t.trace
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
	case <-ctx.Done():
		t.errorf("the case hangs: still running after %v", limit)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}
