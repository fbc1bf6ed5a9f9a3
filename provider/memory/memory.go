package memory

import "github.com/perdure/perdure/provider"

// Options configure a Provider. The zero value is ready for use.
type Options struct {
	Clock Source // nil: the machine's clock
}

// Provider keeps everything in memory. It implements provider.Provider, provider.Notifier, provider.Inspector and
// provider.Transactor. Each part has the methods that belong to it.
type Provider struct {
	*store              // Notify, Close
	*turns              // Create, Send, FetchTurns, CommitTurn, ReleaseTurns, Steer, Reset, Fork
	*tasks              // FetchTasks, ReportTasks, RenewTasks, SteerTask
	*asks               // Ask, FetchAsks, Answer
	*reader             // Get, ReadHistory, List, ListTasks, Count, FailureGroups, Stats, Inspect
	*cleaner            // Delete, Prune, Trim, DeadLetters
	*shared             // Lease, Record
	*callerTransactions // CreateIn, SendIn, CompleteIn
	*mover              // Seal, Export, Import, Seals
}

var (
	_ provider.Provider    = (*Provider)(nil)
	_ provider.Notifier    = (*Provider)(nil)
	_ provider.Inspector   = (*Provider)(nil)
	_ provider.Transactor  = (*Provider)(nil)
	_ provider.Asker       = (*Provider)(nil)
	_ provider.Lister      = (*Provider)(nil)
	_ provider.Meter       = (*Provider)(nil)
	_ provider.Cleaner     = (*Provider)(nil)
	_ provider.Redriver    = (*Provider)(nil)
	_ provider.Keeper      = (*Provider)(nil)
	_ provider.Featured    = (*Provider)(nil)
	_ provider.Counter     = (*Provider)(nil)
	_ provider.TaskSteerer = (*Provider)(nil)
	_ provider.TaskLister  = (*Provider)(nil)
	_ provider.Opener      = (*Provider)(nil)
	_ provider.Trimmer     = (*Provider)(nil)
	_ provider.Mover       = (*Provider)(nil)

	_ provider.FailureGrouper = (*Provider)(nil)
)

// New makes an empty store.
func New(options Options) *Provider {
	if options.Clock == nil {
		options.Clock = system{}
	}
	s := &store{clock: options.Clock, unbounded: unboundedBy(options.Clock), changed: make(chan struct{}), closing: make(chan struct{})}
	all := &instances{
		store: s, byKey: map[provider.UUID]*instance{}, current: map[string]*instance{}, live: map[provider.UUID]*instance{},
		children: map[provider.UUID][]*instance{},
	}
	in, ls := &inboxes{store: s}, &deadLetters{store: s}
	ts := &tasks{
		store: s, instances: all, inboxes: in, deadLetters: ls,
		byRef: map[provider.TaskRef]*task{}, sessions: map[string]*session{},
	}
	tn := &turns{store: s, instances: all, inboxes: in, deadLetters: ls, tasks: ts}
	as := &asks{store: s, instances: all, open: map[provider.UUID]*ask{}}
	cl := &cleaner{store: s, instances: all, inboxes: in, deadLetters: ls, tasks: ts, turns: tn, asks: as}
	return &Provider{
		store: s, turns: tn, tasks: ts, asks: as,
		reader:             &reader{store: s, instances: all, tasks: ts, asks: as, deadLetters: ls},
		cleaner:            cl,
		mover:              &mover{store: s, instances: all, deadLetters: ls, tasks: ts, turns: tn, cleaner: cl},
		shared:             &shared{store: s, leases: map[string]holder{}, records: map[string]map[string]provider.Record{}},
		callerTransactions: &callerTransactions{store: s, instances: all, inboxes: in, tasks: ts, turns: tn},
	}
}

// Features implements provider.Featured.
func (p *Provider) Features() provider.Features {
	return provider.Features{FirstTurns: true, Ahead: true, Sticky: true, Retrying: true, FailureGroups: true}
}
