package faulty

import (
	"context"
	"errors"
	"sync"
	"time"
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
	CreateIn     Op = "create in"
	SendIn       Op = "send in"
	CompleteIn   Op = "complete in"
	Notify       Op = "notify" // one notice; only the kinds about waking concern it
)

// Kind is what a rule does to a call.
type Kind uint8

// The kinds of faults. Those about waking strike only what a wake-up reaches: notices, and calls of FetchTurns,
// FetchTasks, FetchAsks and Get that may block.
const (
	Before        Kind = iota + 1 // fails and has no effect
	After                         // has its effect and fails, outcome unknown
	Delay                         // comes late: after Rule.Delay, and after Rule.Until is closed
	DuplicateWake                 // is woken for nothing: blocks for Rule.Delay at most; a notice is told twice
	LostWake                      // is never woken: looks again each Rule.Delay, 0: when Wait has passed; a notice is lost
	Disconnect                    // the connection breaks under it, for Rule.Delay and until Rule.Until is closed; see Plan.Disconnect
)

var kindNames = [...]string{ //nolint:gochecknoglobals // constant table
	"unknown", "before", "after", "delay", "duplicate wake-up", "lost wake-up", "disconnect",
}

// String returns the kind's name, such as "lost wake-up".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

func (k Kind) aboutWaking() bool { return k == DuplicateWake || k == LostWake }

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
	Delay       time.Duration   // of all kinds but Before and After
	Until       <-chan struct{} // of Kind Delay and Disconnect; nil: Delay alone counts
}

// Plan holds the rules of a Provider and keeps a log of what they did. It may be changed while
// the provider is in use.
//
// What happens to the n-th call of a method that a rule chooses follows from the seed, the rule and n alone. So a test that
// makes its calls in one order meets the same faults in each run, and one that makes them at once from many
// goroutines meets as many.
type Plan struct {
	// Sleep replaces waiting on a timer, and Now the machine's clock, for virtual clocks. Set them before use.
	Sleep func(ctx context.Context, d time.Duration) error
	Now   func() time.Time

	mu      sync.Mutex
	seed    uint64
	added   uint64 // rules so far
	rules   []*armed
	outage  bool
	deaf    bool
	invents bool
	line    line
	flights map[*flight]struct{}
	calls   map[Op]int
	log     []Strike
}

type armed struct {
	Rule

	number uint64
	seen   int
	chosen map[Op]uint64
}

// NewPlan makes a plan without faults. The seed decides the rules that go by chance.
func NewPlan(seed uint64) *Plan {
	return &Plan{seed: seed, flights: map[*flight]struct{}{}, calls: map[Op]int{}, Sleep: sleep, Now: time.Now}
}

// Add adds a rule. The first failure that applies to a call wins, and the first about waking; delays add up.
func (p *Plan) Add(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added++
	p.rules = append(p.rules, &armed{Rule: r, number: p.added, chosen: map[Op]uint64{}})
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
