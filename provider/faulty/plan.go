package faulty

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// ErrInjected is the cause in every error that a plan makes itself.
var ErrInjected = errors.New("injected fault")

// Op is a method of the contract.
type Op string

// The methods that rules can name; Close is never faulty.
const (
	Create       Op = "create"
	Get          Op = "get"
	Steer        Op = "steer"
	FetchTurns   Op = "fetch turns"
	CommitTurn   Op = "commit turn"
	ReleaseTurns Op = "release turns"
	FetchTasks   Op = "fetch tasks"
	ReportTasks  Op = "report tasks"
	RenewTasks   Op = "renew tasks"
	Send         Op = "send"
	Ask          Op = "ask"
	FetchAsks    Op = "fetch asks"
	Answer       Op = "answer"
	ReadHistory  Op = "read history"
	List         Op = "list"
	Count        Op = "count"
	Stats        Op = "stats"
	Delete       Op = "delete"
	Prune        Op = "prune"
	DeadLetters  Op = "dead letters"
	Lease        Op = "lease"
	Record       Op = "record"
)

// Kind is what a rule does to a call.
type Kind uint8

// The kinds of faults.
const (
	Before Kind = iota + 1 // fails and has no effect
	After                  // has its effect and fails, outcome unknown
	Delay                  // comes late: after Rule.Delay, and after Rule.Until is closed
)

// A Rule chooses calls and says what happens to them. Of the calls that Ops and Match
// choose it strikes those that First, Every or Probability pick; with none of the three, all.
type Rule struct {
	Ops         []Op           // none: every method
	Match       func(any) bool // on the request; nil: all
	First       int            // the first n
	Every       int            // the n-th, the 2n-th, ...
	Probability float64        // each by chance
	Kind        Kind
	Err         error           // instead of a retryable *provider.Error
	Delay       time.Duration   // of Kind Delay
	Until       <-chan struct{} // of Kind Delay; nil: Delay alone counts
}

// Plan holds the rules of a Provider and counts what they did. It may be changed while
// the provider is in use.
type Plan struct {
	// Sleep replaces waiting on a timer, for virtual clocks. Set it before use.
	Sleep func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex
	random   *rand.Rand
	rules    []*armed
	outage   bool
	deaf     bool
	injected map[Op]int
}

type armed struct {
	Rule

	seen int
}

// NewPlan makes a plan without faults. The seed decides the rules that go by chance.
func NewPlan(seed uint64) *Plan {
	return &Plan{random: rand.New(rand.NewPCG(seed, 0)), injected: map[Op]int{}, Sleep: sleep}
}

// Add adds a rule. The first failure that applies to a call wins; delays add up.
func (p *Plan) Add(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &armed{Rule: r})
}

// Clear removes all rules.
func (p *Plan) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// StartOutage makes every call fail until EndOutage. A call in progress goes on.
func (p *Plan) StartOutage() { p.set(&p.outage, true) }

// EndOutage ends the outage.
func (p *Plan) EndOutage() { p.set(&p.outage, false) }

// DropNotices says whether notices of ended executions and cancelled tasks get lost.
func (p *Plan) DropNotices(drop bool) { p.set(&p.deaf, drop) }

func (p *Plan) set(flag *bool, value bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*flag = value
}

// Injected tells how many faults were injected into calls of op, delays included.
func (p *Plan) Injected(op Op) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.injected[op]
}

// drops tells whether a notice gets lost.
func (p *Plan) drops() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// verdict is what is to happen to one call.
type verdict struct {
	delays []*armed
	before error
	after  error
}

func (p *Plan) judge(op Op, req any) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v verdict
	if p.outage {
		p.injected[op]++
		v.before = failure(op, provider.OutcomeNothing)
		return v
	}
	for _, r := range p.rules {
		if !p.strikes(r, op, req) {
			continue
		}
		p.injected[op]++
		switch {
		case r.Kind == Delay:
			v.delays = append(v.delays, r)
		case v.before != nil || v.after != nil:
		case r.Kind == Before:
			v.before = r.error(op, provider.OutcomeNothing)
		case r.Kind == After:
			v.after = r.error(op, provider.OutcomeUnknown)
		}
	}
	return v
}

func (p *Plan) strikes(r *armed, op Op, req any) bool {
	if (len(r.Ops) > 0 && !slices.Contains(r.Ops, op)) || (r.Match != nil && !r.Match(req)) {
		return false
	}
	r.seen++
	always := r.First == 0 && r.Every == 0 && r.Probability == 0
	return always || r.seen <= r.First || (r.Every > 0 && r.seen%r.Every == 0) ||
		(r.Probability > 0 && p.random.Float64() < r.Probability)
}

func (r *armed) error(op Op, outcome provider.Outcome) error {
	if r.Err != nil {
		return r.Err
	}
	return failure(op, outcome)
}

func failure(op Op, outcome provider.Outcome) error {
	return &provider.Error{Op: string(op), Outcome: outcome, Retryable: true, Err: ErrInjected}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
