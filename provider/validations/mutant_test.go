package validations

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A method is a method of a provider that can be broken: before, after, or in its place. Several breaks add up.
type method[Req, Res any] func(context.Context, Req) (Res, error)

// before changes the requests.
func (f *method[Req, Res]) before(change func(req *Req)) {
	inner := *f
	*f = func(ctx context.Context, req Req) (Res, error) {
		change(&req)
		return inner(ctx, req)
	}
}

// after changes the results.
func (f *method[Req, Res]) after(change func(req Req, res *Res, err *error)) {
	inner := *f
	*f = func(ctx context.Context, req Req) (Res, error) {
		res, err := inner(ctx, req)
		change(req, &res, &err)
		return res, err
	}
}

// around replaces the method. own may call the previous one any number of times.
func (f *method[Req, Res]) around(own func(ctx context.Context, req Req, inner method[Req, Res]) (Res, error)) {
	inner := *f
	*f = func(ctx context.Context, req Req) (Res, error) { return own(ctx, req, inner) }
}

// The methods that mutants call from other methods.
type (
	createMethod  = method[provider.CreateRequest, provider.CreateResult]
	getMethod     = method[provider.GetRequest, provider.GetResult]
	steerMethod   = method[provider.SteerRequest, provider.SteerResult]
	turnsMethod   = method[provider.FetchTurnsRequest, provider.FetchTurnsResult]
	commitMethod  = method[provider.CommitTurnRequest, provider.CommitTurnResult]
	releaseMethod = method[provider.ReleaseTurnsRequest, provider.ReleaseTurnsResult]
	tasksMethod   = method[provider.FetchTasksRequest, provider.FetchTasksResult]
	reportMethod  = method[provider.ReportTasksRequest, provider.ReportTasksResult]
	renewMethod   = method[provider.RenewTasksRequest, provider.RenewTasksResult]
	actMethod     = method[provider.SteerTaskRequest, provider.SteerTaskResult]
	sendMethod    = method[provider.SendRequest, provider.SendResult]
	recordMethod  = method[provider.RecordRequest, provider.RecordResult]
	inspectMethod = method[provider.InspectRequest, provider.InspectResult]
)

// A mutant is memory with methods that a brokenRule replaces. The embedded provider is correct: a mutant calls it to avoid its
// own breaks.
type mutant struct {
	*memory.Provider

	create  createMethod
	get     getMethod
	steer   steerMethod
	turns   turnsMethod
	commit  commitMethod
	release releaseMethod
	tasks   tasksMethod
	report  reportMethod
	renew   renewMethod
	acts    actMethod
	resets  method[provider.ResetRequest, provider.SteerResult]
	forks   method[provider.ForkRequest, provider.CreateResult]
	seal    method[provider.SealRequest, provider.SealResult]
	seals   method[provider.SealsRequest, provider.SealsResult]
	export  method[provider.ExportRequest, provider.ExportResult]
	imports method[provider.ImportRequest, provider.ImportResult]
	send    sendMethod
	ask     method[provider.AskRequest, provider.AskResult]
	asks    method[provider.FetchAsksRequest, provider.FetchAsksResult]
	answer  method[provider.AnswerRequest, struct{}]
	history method[provider.ReadHistoryRequest, provider.ReadHistoryResult]
	list    method[provider.ListRequest, provider.ListResult]
	count   method[provider.CountRequest, provider.CountResult]
	listing method[provider.ListTasksRequest, provider.ListTasksResult]
	stats   method[provider.StatsRequest, provider.StatsResult]
	remove  method[provider.DeleteRequest, provider.DeleteResult]
	failed  groupsMethod
	prune   method[provider.PruneRequest, provider.PruneResult]
	trim    method[provider.TrimRequest, provider.TrimResult]
	letters method[provider.DeadLettersRequest, provider.DeadLettersResult]
	lease   method[provider.LeaseRequest, provider.LeaseResult]
	record  recordMethod
	inspect inspectMethod
	close   func() error
	counted func() provider.Counters
	has     provider.Features

	notify     func(fn func(provider.Notice)) (stop func())
	migrations func() []provider.Migration
	migrate    func() error
	createIn   createInMethod
	sendIn     sendInMethod
	completeIn completeInMethod
	begin      beginTx
}

// newMutant makes a store without a break.
func newMutant() *mutant {
	p := memory.New(memory.Options{})
	return &mutant{
		Provider: p,

		create: p.Create, get: p.Get, steer: p.Steer, turns: p.FetchTurns, commit: p.CommitTurn, release: p.ReleaseTurns,
		tasks: p.FetchTasks, report: p.ReportTasks, renew: p.RenewTasks, acts: p.SteerTask, resets: p.Reset, forks: p.Fork, send: p.Send,
		seal: p.Seal, seals: p.Seals, export: p.Export, imports: p.Import,
		ask: p.Ask, asks: p.FetchAsks,
		answer: func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
			return struct{}{}, p.Answer(ctx, req)
		},
		history: p.ReadHistory, list: p.List, count: p.Count, listing: p.ListTasks, stats: p.Stats, remove: p.Delete, prune: p.Prune, trim: p.Trim,
		failed:  p.FailureGroups,
		letters: p.DeadLetters, lease: p.Lease, record: p.Record, inspect: p.Inspect, close: p.Close, counted: p.Counters, has: p.Features(),
		notify: p.Notify, migrations: steps, migrate: func() error { return nil },
		createIn: func(ctx context.Context, req createInRequest) (provider.CreateResult, error) {
			return p.CreateIn(ctx, req.tx, req.CreateRequest)
		},
		sendIn: func(ctx context.Context, req sendInRequest) (provider.SendResult, error) {
			return p.SendIn(ctx, req.tx, req.SendRequest)
		},
		completeIn: func(ctx context.Context, req completeInRequest) (provider.TaskReportResult, error) {
			return p.CompleteIn(ctx, req.TaskReport, req.fn)
		},
		begin: func(context.Context, provider.Provider) (Transaction, error) {
			tx := p.Begin()
			return Transaction{Tx: memory.InTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}, nil
		},
	}
}

// stored returns the stored instance, or a zero one if there is none.
func (m *mutant) stored(ctx context.Context, key provider.UUID) provider.Instance {
	res, _ := m.Provider.Get(ctx, provider.GetRequest{Key: key})
	return res.Instance
}

// touch gives the instance a new version and changes nothing else.
func (m *mutant) touch(ctx context.Context, key provider.UUID) {
	_, _ = m.Provider.Steer(ctx, provider.SteerRequest{Key: key, Action: provider.SteerResume, Commit: unique()})
}

// inbox lists the waiting messages of an instance, without payloads.
func (m *mutant) inbox(ctx context.Context, key provider.UUID) []provider.MessageRow {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	res, _ := inspector.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectMessages, Key: key})
	return res.Messages
}

// holders returns a function that reports which token last leased an instance.
func (m *mutant) holders() func(key provider.UUID) provider.UUID {
	var tokens sync.Map
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for _, turn := range res.Turns {
			tokens.Store(turn.Instance.Key, req.Token)
		}
	})
	return func(key provider.UUID) provider.UUID {
		token, _ := tokens.Load(key)
		held, _ := token.(provider.UUID)
		return held
	}
}

// window is a gap between a read of the store and the write that depends on it. In virtual time an instant passes only when all
// goroutines are blocked. So all callers in flight have read before the first one writes. A single caller does not notice.
func window() { time.Sleep(time.Nanosecond) } //nolint:forbidigo // of a bubble's clock

// dawdle is a window so long that polling callers get in between.
func (m *mutant) dawdle(ctx context.Context) {
	_, _ = m.Provider.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: 2 * blink})
}

func (m *mutant) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return m.create(ctx, req)
}

func (m *mutant) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	return m.get(ctx, req)
}

func (m *mutant) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	return m.resets(ctx, req)
}

func (m *mutant) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	return m.forks(ctx, req)
}

func (m *mutant) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	return m.acts(ctx, req)
}

func (m *mutant) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return m.steer(ctx, req)
}

func (m *mutant) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return m.turns(ctx, req)
}

func (m *mutant) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return m.commit(ctx, req)
}

func (m *mutant) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return m.release(ctx, req)
}

func (m *mutant) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return m.tasks(ctx, req)
}

func (m *mutant) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return m.report(ctx, req)
}

func (m *mutant) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return m.renew(ctx, req)
}

func (m *mutant) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return m.send(ctx, req)
}

func (m *mutant) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return m.ask(ctx, req)
}

func (m *mutant) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return m.asks(ctx, req)
}

func (m *mutant) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := m.answer(ctx, req)
	return err
}

func (m *mutant) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return m.history(ctx, req)
}

func (m *mutant) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return m.list(ctx, req)
}

func (m *mutant) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return m.count(ctx, req)
}

func (m *mutant) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	return m.listing(ctx, req)
}

func (m *mutant) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return m.stats(ctx, req)
}

func (m *mutant) Features() provider.Features { return m.has }

func (m *mutant) Counters() provider.Counters { return m.counted() }

func (m *mutant) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return m.remove(ctx, req)
}

func (m *mutant) Trim(ctx context.Context, req provider.TrimRequest) (provider.TrimResult, error) {
	return m.trim(ctx, req)
}

func (m *mutant) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	return m.prune(ctx, req)
}

func (m *mutant) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	return m.letters(ctx, req)
}

func (m *mutant) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return m.lease(ctx, req)
}

func (m *mutant) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return m.record(ctx, req)
}

func (m *mutant) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	return m.inspect(ctx, req)
}

func (m *mutant) Close() error { return m.close() }

func (m *mutant) Seal(ctx context.Context, req provider.SealRequest) (provider.SealResult, error) {
	return m.seal(ctx, req)
}

func (m *mutant) Seals(ctx context.Context, req provider.SealsRequest) (provider.SealsResult, error) {
	return m.seals(ctx, req)
}

func (m *mutant) Export(ctx context.Context, req provider.ExportRequest) (provider.ExportResult, error) {
	return m.export(ctx, req)
}

func (m *mutant) Import(ctx context.Context, req provider.ImportRequest) (provider.ImportResult, error) {
	return m.imports(ctx, req)
}
