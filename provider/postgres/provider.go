package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Provider is a handle of a store in Postgres. It implements [provider.Provider], [provider.Notifier] and
// [provider.Migrator]. All methods may be called concurrently.
type Provider struct {
	calls
	shared

	db          *database
	kinds       *kinds
	cache       *rowCache
	hub         *relational.Hub
	waiters     *waiters
	notifier    *notifier
	pending     *pending
	janitor     *janitor
	stepBack    *stepBack
	presence    *presence
	units       *units
	commits     *commits
	group       *group
	claims      *claims
	asks        *asks
	reader      *reader
	deleter     deleter
	joins       *joins
	completions *completions
}

// calls are those that change instances. A group carries out each of them.
type calls = relational.Calls

// shared are those whose statements do not differ from SQLite's.
type shared = relational.Queries

var (
	_ provider.Provider    = (*Provider)(nil)
	_ provider.Notifier    = (*Provider)(nil)
	_ provider.Migrator    = (*Provider)(nil)
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

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First == nil {
		return p.calls.Create(ctx, req)
	}
	if err := p.presence.handsOff(ctx, req.First.Tasks, req.Validate); err != nil {
		return provider.CreateResult{}, failed("create", err, provider.OutcomeNothing)
	}
	res, err := p.calls.Create(ctx, req)
	p.presence.handedOff(req.First.Tasks, err)
	return res, err
}

// CommitTurn implements [provider.Provider].
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if err := p.presence.handsOff(ctx, req.Tasks, req.Validate); err != nil {
		return provider.CommitTurnResult{}, failed("commit turn", err, provider.OutcomeNothing)
	}
	res, err := p.calls.CommitTurn(ctx, req)
	p.presence.handedOff(req.Tasks, err)
	return res, err
}

// RenewTasks implements [provider.Provider].
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	res, err := p.calls.RenewTasks(ctx, req)
	if err == nil || provider.OutcomeOf(err) != provider.OutcomeNothing {
		p.presence.serve(req.Owner, max(req.Lease, req.SessionLease))
	}
	return res, err
}

// FetchTurns implements [provider.Provider].
func (p *Provider) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := p.claims.fetchTurns(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// FetchTasks implements [provider.Provider].
func (p *Provider) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := p.claims.fetchTasks(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// FetchAsks implements [provider.Asker].
func (p *Provider) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	res, err := p.claims.fetchAsks(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// Ask implements [provider.Asker].
func (p *Provider) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	res, err := p.asks.ask(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// Answer implements [provider.Asker].
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	return p.asks.answer(ctx, req)
}

// List implements [provider.Lister].
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	res, err := p.reader.list(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// Count implements [provider.Lister].
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return p.reader.count(ctx, req)
}

// Stats implements [provider.Meter].
func (p *Provider) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	res, err := p.reader.stats(ctx, req)
	p.cache.clock.advance(res.Now)
	return res, err
}

// Counters implements [provider.Counter].
func (p *Provider) Counters() provider.Counters {
	c := p.reader.counters()
	c.AskLooks = p.asks.polls.Load()
	return c
}

// Delete implements [provider.Cleaner].
func (p *Provider) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return p.deleter.delete(ctx, req)
}

// Prune implements [provider.Cleaner].
func (p *Provider) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	return p.deleter.prune(ctx, req)
}

// CreateIn implements [provider.Transactor].
func (p *Provider) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.CreateResult, error) {
	req.First = nil // this process does not learn whether it is stored
	return p.joins.inside(tx).Create(ctx, req)
}

// SendIn implements [provider.Transactor].
func (p *Provider) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (provider.SendResult, error) {
	return p.joins.inside(tx).Send(ctx, req)
}

// CompleteIn implements [provider.Transactor].
func (p *Provider) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (provider.TaskReportResult, error) {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{item}}
	if err := req.Validate(); err != nil {
		return provider.TaskReportResult{}, err
	}
	res, err := p.completions.completeIn(ctx, &req, fn)
	if !errors.Is(err, errGone) {
		return res, err
	}
	plain, err := p.ReportTasks(ctx, req)
	if err != nil {
		return res, err
	}
	return plain.Items[0], nil
}

// Notify implements [provider.Notifier], for the commits of all processes.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) { return p.hub.Notify(fn) }

// Migrations implements [provider.Migrator].
func (p *Provider) Migrations(ctx context.Context) ([]provider.Migration, error) {
	return migrator{p.db}.list(ctx)
}

// Migrate implements [provider.Migrator].
func (p *Provider) Migrate(ctx context.Context) error { return migrator{p.db}.apply(ctx) }

// start makes the parts of a store, each from those that it uses.
func start(db *database, kinds *kinds) *Provider {
	p := &Provider{db: db, kinds: kinds, cache: newRowCache(), hub: relational.NewHub()}
	p.waiters = newWaiters(&p.cache.clock)
	p.notifier = startNotifier(db, kinds, p.hub, p.waiters)
	p.pending = startPending(db, p.notifier)
	p.janitor = startJanitor(db, p.notifier)
	p.stepBack = startStepBack(db, p.janitor, p.notifier)
	p.presence = startPresence(db, kinds, p.notifier, p.stepBack)
	p.units = newUnits(db, kinds, &p.cache.clock)
	p.commits = &commits{db: db, kinds: kinds, hub: p.hub, cache: p.cache, notifier: p.notifier, waiters: p.waiters, presence: p.presence}
	p.group = startGroup(db, kinds, p.cache, p.units, p.commits)
	p.Enqueue = p.group.enqueue
	p.claims = &claims{db: db, kinds: kinds, cache: p.cache, waiters: p.waiters, presence: p.presence, notifier: p.notifier, group: p.group}
	p.asks = &asks{db: db, hub: p.hub, notifier: p.notifier}
	p.shared = relational.NewQueries(storage{db, &p.cache.clock}, &db.door, p.hub, p.group.enqueue, 1)
	p.reader = &reader{db: db, commits: p.commits, janitor: p.janitor}
	p.deleter = deleter{group: p.group}
	p.joins = &joins{db: db, kinds: kinds, units: p.units, pending: p.pending, relearn: make(chan struct{}, 1)}
	p.completions = newCompletions(db, kinds, p.units, p.commits)
	return p
}

// closeGrace is how long calls in flight may continue while the provider closes.
const closeGrace = 3 * time.Second

// Close implements [provider.Provider].
func (p *Provider) Close() error {
	grace := time.AfterFunc(closeGrace, p.db.harden)
	defer grace.Stop()
	if first := p.db.door.Close(); !first {
		return nil
	}
	defer p.db.harden()
	p.stepBack.stop()
	p.janitor.stop()
	p.group.stop()
	p.presence.stop()
	p.notifier.stop()
	p.pending.stop()
	p.db.close()
	return nil
}

// Features implements [provider.Featured].
func (p *Provider) Features() provider.Features {
	return provider.Features{FirstTurns: true, Ahead: true, Sticky: true, Retrying: true, FailureGroups: true}
}
