package faulty

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrInjected is the cause of every error that a plan makes itself.
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
	SteerTask    Op = "steer task"
	Reset        Op = "reset"
	Fork         Op = "fork"
	Seal         Op = "seal"
	Export       Op = "export"
	Import       Op = "import"
	Seals        Op = "seals"
	Send         Op = "send"
	Ask          Op = "ask"
	FetchAsks    Op = "fetch asks"
	Answer       Op = "answer"
	ReadHistory  Op = "read history"
	List         Op = "list"
	Count        Op = "count"
	ListTasks    Op = "list tasks"
	Stats        Op = "stats"
	Delete       Op = "delete"
	Prune        Op = "prune"
	Trim         Op = "trim"
	Compact      Op = "compact"
	DeadLetters  Op = "dead letters"
	Lease        Op = "lease"
	Record       Op = "record"
	CreateIn     Op = "create in"
	SendIn       Op = "send in"
	CompleteIn   Op = "complete in"
	Notify       Op = "notify" // one notice; only the wake-up kinds apply to it

	FailureGroups Op = "failure groups"
)

// Kind is the effect of a rule on a call.
type Kind uint8

// The kinds of faults. Wake-up kinds apply only to notices and to calls of FetchTurns, FetchTasks, FetchAsks and Get that may
// block.
const (
	Before        Kind = iota + 1 // the call fails without effect
	After                         // the call has its effect and fails, outcome unknown
	Delay                         // the call is late: after Rule.Delay, and after Rule.Until is closed
	DuplicateWake                 // the call wakes up for nothing: it blocks for Rule.Delay at most; a notice comes twice
	LostWake                      // the call never wakes up: it polls each Rule.Delay, 0: when Wait has passed; a notice is lost
	Disconnect                    // the connection breaks during the call, for Rule.Delay and until Rule.Until is closed; see Plan.Disconnect
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

// A Rule chooses calls and their fault. Ops and Match choose calls. First, Every or Probability pick some of these; without the
// three, the rule strikes all of them.
type Rule struct {
	Ops         []Op           // none: every method
	Match       func(any) bool // on the request; nil: all
	First       int            // the first n
	Every       int            // the n-th, the 2n-th, ...
	Probability float64        // each by chance
	Kind        Kind
	Err         error           // instead of a retryable *provider.Error
	Delay       time.Duration   // of all kinds except Before and After
	Until       <-chan struct{} // for Delay and Disconnect; nil: Delay alone counts
}

// Plan holds the rules of a Provider and a log of their effects. It may be changed while the provider is in use.
//
// The fault of the n-th call of a method that a rule chooses follows from the seed, the rule and n alone. A test that makes its
// calls in one order gets the same faults in each run. A test with many goroutines gets the same number.
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

// NewPlan returns a plan without faults. The seed decides rules with a Probability.
func NewPlan(seed uint64) *Plan {
	return &Plan{seed: seed, flights: map[*flight]struct{}{}, calls: map[Op]int{}, Sleep: sleep, Now: time.Now}
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

// Add adds a rule. The first failure that applies to a call wins, and so does the first wake-up kind. Delays add up.
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

// StartOutage makes every call fail until EndOutage. Calls in progress continue.
func (p *Plan) StartOutage() { p.set(&p.outage, true) }

// EndOutage ends the outage.
func (p *Plan) EndOutage() { p.set(&p.outage, false) }

// DropNotices turns the loss of all notices on or off.
func (p *Plan) DropNotices(drop bool) { p.set(&p.deaf, drop) }

func (p *Plan) set(flag *bool, value bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*flag = value
}
