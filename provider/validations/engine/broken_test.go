package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/provider"
)

// broken says how a provider is broken, which scenario must see it, in which mode, and a word of what it then says.
type broken struct {
	scenario, mode string
	says           string
	mutate         func(*mutant)
}

func brokenProviders() map[string]broken {
	return map[string]broken{
		"commit loses messages":            {"children", "cached", "hangs", losesSends},
		"commit loses refusals":            {"child-id-in-use", "cached", "hangs", losesRefusals},
		"commit loses the next execution":  {"continue-as-new", "cached", "hangs", losesNext},
		"commit loses the last event":      {"fan-out", "cached", "the store is broken", losesLastEvent},
		"commit ignores the fence":         {"takeover", "uncached", "was not refused", ignoresFence},
		"timers fire early":                {"timers", "cached", "fired after", firesEarly},
		"fetch gives a task twice":         {"two-nodes", "cached", "ran 2 times", doublesTasks},
		"task leases end at once":          {"two-nodes", "uncached", "ran 2 times", leasesBriefly},
		"fetch sleeps over timers":         {"timers", "uncached", "hangs", sleeps},
		"fetch turns messages round":       {"flood", "uncached", "came, want", turnsMessagesRound},
		"history pages begin at the start": {"large-payloads", "uncached", "corrupt", repeatsPages},
		"history begins one later":         {"long-history", "evicted", "blocked", skipsEvent},
		"history of another execution":     {"continue-as-new", "cached", "ends with", readsCurrentOnly},
		"suspend is not stored":            {"suspend", "cached", "suspended with", neverSuspends},
		"terminate tells no child":         {"children-end-with-parent", "cached", "hangs", tellsNoChild},
		"terminate tells abandoned ones":   {"abandoned-child", "cached", "Cancelled", ignoresClosePolicy},
		"renewal never says that it ends":  {"terminate", "cached", "hangs", saysAllRun},
		"retry loses the details":          {"retries", "cached", "got details", losesDetails},
		"commit sticks to nobody":          {"home", "cached", "replayed", sticksToNobody},
		"release of a task is not stored":  {"hand-back", "cached", "hangs", keepsTaskLeases},
		"wait does not hear of the end":    {"waits", "cached", "hangs", waitsInVain},
		"blocked does not end a wait":      {"unblock", "cached", "hangs", hidesBlocked},
		"delete leaves children":           {"deleted-tree", "cached", "1 instances were deleted", deletesNoChildren},
		"the same request again":           {"ids", "cached", "already exists", forgetsRequests},
		"lost creates are made again":      {"lost-answers", "cached", "already exists", forgetsRequests},
	}
}

func changesCommit(m *mutant, change func(*provider.CommitTurnRequest)) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		change(&req)
		return m.Full.CommitTurn(ctx, req)
	}
}

func sticksToNobody(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) { r.Sticky = 0 })
}

func losesSends(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) { r.Sends = nil })
}

func losesRefusals(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		r.Starts = slices.DeleteFunc(slices.Clone(r.Starts), func(s provider.Start) bool {
			_, err := m.Full.Get(context.Background(), provider.GetRequest{ID: s.Create.ID})
			return err == nil
		})
	})
}

func losesNext(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		if r.Next != nil {
			next := *r.Next
			next.Message = nil
			r.Next = &next
		}
	})
}

func losesLastEvent(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		if r.Status != provider.StatusRunning {
			r.Events = r.Events[:len(r.Events)-1]
		}
	})
}

func firesEarly(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		r.Timers = slices.Clone(r.Timers)
		for i := range r.Timers {
			r.Timers[i].Due = 1
		}
	})
}

// ignoresFence stores only the first commit of a turn that comes too late. Nodes that overwrite each other for ever
// would do so in no time, and virtual time would not pass.
func ignoresFence(m *mutant) {
	var stored atomic.Bool
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		res, err := m.Full.Get(context.Background(), provider.GetRequest{Key: r.Key})
		if err == nil && res.Instance.Name == "turn" && res.Instance.Version != r.Expected && stored.CompareAndSwap(false, true) {
			r.Expected, r.Length, r.Consumed = res.Instance.Version, res.Instance.HistoryLength, nil
		}
	})
}

func doublesTasks(m *mutant) {
	m.tasks = func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
		res, err := m.Full.FetchTasks(ctx, req)
		res.Tasks = append(res.Tasks, res.Tasks...)
		return res, err
	}
}

func leasesBriefly(m *mutant) {
	var mu sync.Mutex
	again := map[provider.TaskRef]bool{}
	m.tasks = func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
		res, err := m.Full.FetchTasks(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		for _, t := range res.Tasks { // each is there once more for the next fetch
			if !again[t.TaskRef] {
				again[t.TaskRef] = true
				_, _ = m.Full.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{
					TaskRef: t.TaskRef, Token: provider.TaskToken(req.Token, t.TaskRef), Attempt: t.Attempt, Outcome: provider.TaskRelease,
				}}})
			}
		}
		return res, err
	}
}

func sleeps(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		wait := req.Wait
		req.Wait = 0
		if res, err := m.Full.FetchTurns(ctx, req); err != nil || len(res.Turns) > 0 {
			return res, err
		}
		_, err := m.Full.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: 1, Wait: wait})
		return provider.FetchTurnsResult{}, err
	}
}

func turnsMessagesRound(m *mutant) {
	m.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		res, err := m.Full.FetchTurns(ctx, req)
		for _, t := range res.Turns {
			if len(t.Messages) > 1 {
				slices.Reverse(t.Messages)
			}
		}
		return res, err
	}
}

func changesHistory(m *mutant, change func(*provider.ReadHistoryRequest, *provider.ReadHistoryResult)) {
	m.history = func(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
		change(&req, nil)
		res, err := m.Full.ReadHistory(ctx, req)
		if err == nil {
			change(&req, &res)
		}
		return res, err
	}
}

func repeatsPages(m *mutant) {
	changesHistory(m, func(req *provider.ReadHistoryRequest, _ *provider.ReadHistoryResult) { req.From = 1 })
}

func skipsEvent(m *mutant) {
	changesHistory(m, func(_ *provider.ReadHistoryRequest, res *provider.ReadHistoryResult) {
		if res != nil && len(res.Events) > 3 {
			res.Events = slices.Delete(res.Events, 2, 3)
			for i := range res.Events {
				res.Events[i].ID = res.Events[0].ID + int64(i)
			}
		}
	})
}

func readsCurrentOnly(m *mutant) {
	changesHistory(m, func(req *provider.ReadHistoryRequest, _ *provider.ReadHistoryResult) { req.Execution, req.To = 0, 0 })
}

func changesSteer(m *mutant, change func(*provider.SteerRequest)) {
	m.steer = func(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
		change(&req)
		return m.Full.Steer(ctx, req)
	}
}

func neverSuspends(m *mutant) {
	changesSteer(m, func(r *provider.SteerRequest) {
		if r.Action == provider.SteerSuspend {
			r.Action = provider.SteerUnblock
		}
	})
}

func tellsNoChild(m *mutant) {
	changesSteer(m, func(r *provider.SteerRequest) { r.ChildNotice = nil })
}

func ignoresClosePolicy(m *mutant) {
	changesCommit(m, func(r *provider.CommitTurnRequest) {
		for i := range r.Starts {
			r.Starts[i].Create.Parent.Close = provider.CloseCancel
		}
	})
}

func saysAllRun(m *mutant) {
	m.renew = func(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
		res, err := m.Full.RenewTasks(ctx, req)
		for i := range res.Items {
			res.Items[i] = provider.TaskRenewalResult{State: provider.ExecutionState{Kind: provider.ExecutionRunning}, LeaseUntil: res.Now.Add(req.Lease)}
		}
		return res, err
	}
}

func losesDetails(m *mutant) {
	m.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		req.Items = slices.Clone(req.Items)
		for i := range req.Items {
			req.Items[i].Details = nil
		}
		return m.Full.ReportTasks(ctx, req)
	}
}

func keepsTaskLeases(m *mutant) {
	m.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		var kept []provider.TaskReport
		for _, item := range req.Items {
			if item.Outcome != provider.TaskRelease {
				kept = append(kept, item)
			}
		}
		res, err := m.Full.ReportTasks(ctx, provider.ReportTasksRequest{Items: kept})
		for len(res.Items) < len(req.Items) {
			res.Items = append(res.Items, provider.TaskReportResult{})
		}
		return res, err
	}
}

func waitsInVain(m *mutant) {
	m.get = func(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
		if req.WaitEnded {
			_, err := m.Full.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: 1, Wait: req.Wait})
			if err != nil {
				return provider.GetResult{}, err
			}
		}
		req.WaitEnded, req.WaitBlocked, req.Wait = false, false, 0
		return m.Full.Get(ctx, req)
	}
}

func hidesBlocked(m *mutant) {
	m.get = func(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
		req.WaitBlocked = false
		res, err := m.Full.Get(ctx, req)
		res.Instance.Blocked = nil
		return res, err
	}
}

func deletesNoChildren(m *mutant) {
	m.remove = func(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
		_, err := m.Full.Delete(ctx, req)
		return provider.DeleteResult{Instances: 1}, err
	}
}

func forgetsRequests(m *mutant) {
	m.create = func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
		req.RequestID = uuid.NewString()
		return m.Full.Create(ctx, req)
	}
}

func TestScenariosCatchBrokenProviders(t *testing.T) {
	t.Parallel()
	all := scenarios()
	for name, b := range brokenProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == b.scenario })
			j := slices.IndexFunc(modes(), func(m mode) bool { return m.name == b.mode })
			if i < 0 || j < 0 {
				t.Fatalf("there is no scenario %q or no mode %q", b.scenario, b.mode)
			}
			failures := strings.Join(caught(t, all[i], modes()[j], b.mutate), "\n")
			if failures == "" || !strings.Contains(failures, b.says) {
				t.Errorf("%s/%s says %q, want %q", b.scenario, b.mode, failures, b.says)
			}
			t.Log(failures)
		})
	}
}
