package validations

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A mutant is a provider that breaks one rule. Methods left nil are those of memory.
type mutant struct {
	provider.Provider

	create  func(context.Context, provider.CreateRequest) (provider.CreateResult, error)
	commit  func(context.Context, provider.CommitTurnRequest) (provider.CommitTurnResult, error)
	turns   func(context.Context, provider.FetchTurnsRequest) (provider.FetchTurnsResult, error)
	release func(context.Context, provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error)
	steer   func(context.Context, provider.SteerRequest) (provider.SteerResult, error)
	tasks   func(context.Context, provider.FetchTasksRequest) (provider.FetchTasksResult, error)
	report  func(context.Context, provider.ReportTasksRequest) (provider.ReportTasksResult, error)
	renew   func(context.Context, provider.RenewTasksRequest) (provider.RenewTasksResult, error)
	send    func(context.Context, provider.SendRequest) (provider.SendResult, error)
	list    func(context.Context, provider.ListRequest) (provider.ListResult, error)
	history func(context.Context, provider.ReadHistoryRequest) (provider.ReadHistoryResult, error)
	record  func(context.Context, provider.RecordRequest) (provider.RecordResult, error)
	inspect func(context.Context, provider.InspectRequest) (provider.InspectResult, error)
}

func call[Req, Res any](ctx context.Context, req Req, own, inner func(context.Context, Req) (Res, error)) (Res, error) {
	if own != nil {
		return own(ctx, req)
	}
	return inner(ctx, req)
}

func (m *mutant) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return call(ctx, req, m.create, m.Provider.Create)
}

func (m *mutant) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return call(ctx, req, m.commit, m.Provider.CommitTurn)
}

func (m *mutant) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return call(ctx, req, m.turns, m.Provider.FetchTurns)
}

func (m *mutant) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return call(ctx, req, m.release, m.Provider.ReleaseTurns)
}

func (m *mutant) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return call(ctx, req, m.steer, m.Provider.Steer)
}

func (m *mutant) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return call(ctx, req, m.tasks, m.Provider.FetchTasks)
}

func (m *mutant) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return call(ctx, req, m.report, m.Provider.ReportTasks)
}

func (m *mutant) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return call(ctx, req, m.renew, m.Provider.RenewTasks)
}

func (m *mutant) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return call(ctx, req, m.send, m.Provider.Send)
}

func (m *mutant) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return call(ctx, req, m.list, m.Provider.List)
}

func (m *mutant) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return call(ctx, req, m.history, m.Provider.ReadHistory)
}

func (m *mutant) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return call(ctx, req, m.record, m.Provider.Record)
}

func (m *mutant) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	return call(ctx, req, m.inspect, inspector.Inspect)
}

// mutants says how each is broken and which case must see it.
func mutants() map[string]func(*mutant) {
	return map[string]func(*mutant){
		"fence/version":                  ignoresFence,
		"fence/consumed-is-gone":         takesGoneMessages,
		"fence/same-commit-again":        forgetsCommits,
		"close/waiting-message":          closesOverMessages,
		"create/repeated-request":        forgetsRequests,
		"fetch-turns/lease-is-exclusive": leasesTwice,
		"fetch-turns/deliveries":         countsNothing,
		"send/first-in-first-out":        turnsOrderRound,
		"wait/message-wakes":             losesWakeUps,
		"wait/passes":                    neverBlocks,
		"release-turns/wrong-token":      releasesForAnyone,
		"release-turns/all-of-a-token":   releasesNamedOnly,
		"report/release-all":             releasesNamedTasksOnly,
		"execution/removes-work":         keepsTimers,
		"commit/ends-the-lease":          keepsLeases,
		"deliver/send-refused-gone":      swallowsRefusals,
		"tasks/lease-expires":            countsLeasesAsAttempts,
		"report/wrong-token":             saysAllReportsAreFine,
		"renew/terminal":                 extendsAfterTheEnd,
		"steer/same-commit-again":        steersTwice,
		"commit/payload-bytes":           cutsAtNUL,
		"read/list-attributes":           ignoresAttributes,
		"read/history-bytes":             saysThereIsNoMore,
		"shared/record-expect":           overwritesRecords,
		"inspect/instances":              bends(hidesReady),
		"inspect/replaced":               bends(hidesReplaced),
		"inspect/executions":             bends(hidesExecutions),
		"inspect/history":                bends(hidesHistory),
		"inspect/messages":               bends(hidesTimers),
		"inspect/tasks":                  bends(hidesCancels),
		"inspect/keys":                   bends(repeatsKeys),
		"inspect/turn-leases":            bends(hidesHolders),
		"inspect/lapsed-turn-lease":      bends(neverLapses),
		"inspect/task-leases":            bends(hidesTaskHolders),
		"inspect/order":                  bends(turnsRowsRound),
		"inspect/pages":                  bends(forgetsCursor),
		"inspect/bytes":                  answersAllPages,
		"inspect/key":                    inspectsAllKeys,
		"inspect/payloads":               bends(addsPayloads),
		"inspect/changes-nothing":        touchesWhatItShows,
	}
}

func ignoresFence(m *mutant) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if res, err := m.Get(ctx, provider.GetRequest{Key: req.Key}); err == nil && res.Instance.Version != req.Commit {
			req.Expected, req.Length = res.Instance.Version, res.Instance.HistoryLength
		}
		return m.Provider.CommitTurn(ctx, req)
	}
}

func takesGoneMessages(m *mutant) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		res, err := m.Provider.CommitTurn(ctx, req)
		if errors.Is(err, provider.ErrConflict) {
			req.Consumed = nil
			return m.Provider.CommitTurn(ctx, req)
		}
		return res, err
	}
}

func forgetsCommits(m *mutant) {
	var seen sync.Map
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if _, again := seen.Load(req.Commit); again {
			return provider.CommitTurnResult{}, provider.ErrConflict
		}
		res, err := m.Provider.CommitTurn(ctx, req)
		if err == nil {
			seen.Store(req.Commit, true)
		}
		return res, err
	}
}

func closesOverMessages(m *mutant) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if req.Status.Ended() {
			req.CloseInbox = "mutant"
		}
		return m.Provider.CommitTurn(ctx, req)
	}
}

func keepsTimers(m *mutant) {
	var mu sync.Mutex
	timers := map[provider.UUID][]provider.Timer{}
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		res, err := m.Provider.CommitTurn(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		timers[req.Key] = append(timers[req.Key], req.Timers...)
		if err == nil && req.Next != nil {
			for _, t := range timers[req.Key] {
				_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: req.Key, Message: provider.NewMessage{EventID: t.EventID}})
			}
		}
		return res, err
	}
}

func keepsLeases(m *mutant) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		req.Lease = provider.UUID{}
		return m.Provider.CommitTurn(ctx, req)
	}
}

func swallowsRefusals(m *mutant) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		req.Sends = slices.Clone(req.Sends)
		for i := range req.Sends {
			req.Sends[i].Refused = nil
		}
		return m.Provider.CommitTurn(ctx, req)
	}
}

func forgetsRequests(m *mutant) {
	m.create = func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
		req.RequestID = ""
		return m.Provider.Create(ctx, req)
	}
}

func leasesTwice(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		res, err := m.Provider.FetchTurns(ctx, req)
		for _, turn := range res.Turns {
			item := provider.TurnRelease{Key: turn.Instance.Key, Token: req.Token}
			_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
		}
		return res, err
	}
}

func countsNothing(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		res, err := m.Provider.FetchTurns(ctx, req)
		for i := range res.Turns {
			res.Turns[i].Instance.Deliveries = 1
		}
		return res, err
	}
}

func turnsOrderRound(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		res, err := m.Provider.FetchTurns(ctx, req)
		for _, turn := range res.Turns {
			slices.Reverse(turn.Messages)
		}
		return res, err
	}
}

func losesWakeUps(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		wait := req.Wait
		req.Wait = 0
		res, err := m.Provider.FetchTurns(ctx, req)
		if wait > 0 && err == nil && len(res.Turns) == 0 {
			<-ctx.Done()
			return res, ctx.Err()
		}
		return res, err
	}
}

func neverBlocks(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		req.Wait = 0
		return m.Provider.FetchTurns(ctx, req)
	}
}

func releasesForAnyone(m *mutant) {
	m.release = func(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
		res, err := m.Provider.ReleaseTurns(ctx, req)
		clear(res.Errs)
		return res, err
	}
}

func releasesNamedOnly(m *mutant) {
	m.release = func(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
		if len(req.Items) == 1 && req.Items[0].Key.IsZero() {
			return provider.ReleaseTurnsResult{Errs: []error{nil}}, nil
		}
		return m.Provider.ReleaseTurns(ctx, req)
	}
}

func releasesNamedTasksOnly(m *mutant) {
	m.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		if len(req.Items) == 1 && req.Items[0].Key.IsZero() {
			return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, 1)}, nil
		}
		return m.Provider.ReportTasks(ctx, req)
	}
}

func countsLeasesAsAttempts(m *mutant) {
	m.tasks = func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
		res, err := m.Provider.FetchTasks(ctx, req)
		for i := range res.Tasks {
			res.Tasks[i].Attempt += res.Tasks[i].Deliveries - 1
		}
		return res, err
	}
}

func saysAllReportsAreFine(m *mutant) {
	m.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		res, err := m.Provider.ReportTasks(ctx, req)
		for i := range res.Items {
			res.Items[i].Err = nil
		}
		return res, err
	}
}

func extendsAfterTheEnd(m *mutant) {
	m.renew = func(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
		res, err := m.Provider.RenewTasks(ctx, req)
		for i := range res.Items {
			if res.Items[i].State.Kind == provider.ExecutionTerminal {
				res.Items[i] = provider.TaskRenewalResult{
					State: provider.ExecutionState{Kind: provider.ExecutionRunning}, LeaseUntil: res.Now.Add(req.Lease),
				}
			}
		}
		return res, err
	}
}

func steersTwice(m *mutant) {
	m.steer = func(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
		req.Commit = unique()
		return m.Provider.Steer(ctx, req)
	}
}

func cutsAtNUL(m *mutant) {
	m.send = func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
		req.Message.Payload, _, _ = bytes.Cut(req.Message.Payload, []byte{0})
		return m.Provider.Send(ctx, req)
	}
}

func ignoresAttributes(m *mutant) {
	m.list = func(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
		req.Filter.Attributes = nil
		return m.Provider.List(ctx, req)
	}
}

func saysThereIsNoMore(m *mutant) {
	m.history = func(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
		res, err := m.Provider.ReadHistory(ctx, req)
		res.More = false
		return res, err
	}
}

func overwritesRecords(m *mutant) {
	m.record = func(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
		res, err := m.Provider.Record(ctx, req)
		if !errors.Is(err, provider.ErrConflict) {
			return res, err
		}
		stored, err := m.Provider.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: req.Namespace, Key: req.Key})
		if err != nil {
			return stored, err
		}
		req.Expect = stored.Records[0].Version
		return m.Provider.Record(ctx, req)
	}
}

// bends changes what Inspect answers.
func bends(bend func(*provider.InspectResult)) func(*mutant) {
	return func(m *mutant) {
		inspector, _ := provider.As[provider.Inspector](m.Provider)
		m.inspect = func(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
			res, err := inspector.Inspect(ctx, req)
			bend(&res)
			return res, err
		}
	}
}

func hidesReady(r *provider.InspectResult) {
	for i := range r.Instances {
		r.Instances[i].ReadyAt = 0
	}
}

func hidesReplaced(r *provider.InspectResult) {
	r.Instances = slices.DeleteFunc(r.Instances, func(i provider.Instance) bool { return i.Status.Ended() })
}

func hidesExecutions(r *provider.InspectResult) { r.Executions = nil }

func hidesHistory(r *provider.InspectResult) {
	r.History = slices.DeleteFunc(r.History, func(h provider.HistoryRow) bool { return h.Execution == 1 })
}

func hidesTimers(r *provider.InspectResult) {
	r.Messages = slices.DeleteFunc(r.Messages, func(m provider.MessageRow) bool { return m.Timer })
}

func hidesCancels(r *provider.InspectResult) {
	for i := range r.Tasks {
		r.Tasks[i].CancelRequested = false
	}
}

func repeatsKeys(r *provider.InspectResult) { r.Keys = append(r.Keys, r.Keys...) }

func hidesHolders(r *provider.InspectResult) {
	for i := range r.TurnLeases {
		r.TurnLeases[i].Lease.Owner = ""
	}
}

func neverLapses(r *provider.InspectResult) {
	for i := range r.TurnLeases {
		r.TurnLeases[i].Lease.Over = false
	}
}

func hidesTaskHolders(r *provider.InspectResult) {
	for i := range r.Tasks {
		r.Tasks[i].Lease = provider.LeaseRow{}
	}
}

func turnsRowsRound(r *provider.InspectResult) { slices.Reverse(r.Messages) }

func forgetsCursor(r *provider.InspectResult) { r.Cursor = "" }

func addsPayloads(r *provider.InspectResult) {
	for i := range r.Messages {
		r.Messages[i].Payload = []byte("payload")
	}
}

func answersAllPages(m *mutant) {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	m.inspect = func(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
		res, err := inspector.Inspect(ctx, req)
		for err == nil && res.Cursor != "" {
			var more provider.InspectResult
			req.Cursor = res.Cursor
			more, err = inspector.Inspect(ctx, req)
			res.Instances, res.Cursor = append(res.Instances, more.Instances...), more.Cursor
		}
		return res, err
	}
}

func inspectsAllKeys(m *mutant) {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	m.inspect = func(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
		req.Key = provider.UUID{}
		return inspector.Inspect(ctx, req)
	}
}

func touchesWhatItShows(m *mutant) {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	m.inspect = func(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
		res, err := inspector.Inspect(ctx, req)
		for _, i := range res.Instances {
			_, _ = m.Steer(ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerUnblock, Commit: unique()})
		}
		return res, err
	}
}

// caught runs the case, in virtual time, against memory broken by mutate.
func caught(t *testing.T, c testCase, mutate func(*mutant)) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &mutant{Provider: memory.New(memory.Options{})}
		mutate(m)
		failures = execute(t.Context(), c, m, 30*time.Second)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return failures
}

func TestSuiteCatchesMutants(t *testing.T) {
	t.Parallel()
	all := cases()
	for name, mutate := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(c testCase) bool { return strings.HasSuffix(c.group+"/"+c.name, name) })
			if i < 0 {
				t.Fatal("there is no such case")
			}
			if failures := caught(t, all[i], mutate); len(failures) == 0 {
				t.Error("the suite does not see it")
			}
		})
	}
}

// A suite that fails sound providers is as useless as one that passes all.
func TestSuitePassesMemoryInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range caught(t, c, func(*mutant) {}) {
				t.Error(f)
			}
		})
	}
}

func TestSuiteSurvivesPanics(t *testing.T) {
	c := testCase{group: "g", name: "n", run: func(*trial) { panic("oops") }}
	if failures := caught(t, c, func(*mutant) {}); len(failures) != 1 || !strings.Contains(failures[0], "oops") {
		t.Errorf("got %v, want the panic as a failure", failures)
	}
}
