package validations

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

func brokenInspect() []brokenRule {
	return []brokenRule{
		{name: "inspect hides when instances are ready", caught: "inspect/instances", breaks: bends(hidesReady)},
		{name: "inspect hides replaced instances", caught: "inspect/replaced", breaks: bends(hidesReplaced)},
		{name: "inspect hides old executions", caught: "inspect/executions", breaks: bends(hidesExecutions)},
		{name: "inspect hides old histories", caught: "inspect/history", breaks: bends(hidesHistory)},
		{name: "inspect hides timers", caught: "inspect/messages", breaks: bends(hidesTimers)},
		{name: "inspect hides that cancellation was asked for", caught: "inspect/tasks", breaks: bends(hidesCancels)},
		{name: "inspect repeats keys", caught: "inspect/keys", breaks: bends(repeatsKeys)},
		{name: "inspect hides the owner of a turn lease", caught: "inspect/turn-leases", breaks: bends(hidesHolders)},
		{name: "inspect shows expired leases as held", caught: "inspect/expired-turn-lease", breaks: bends(neverExpires)},
		{name: "inspect hides the owner of a task lease", caught: "inspect/task-leases", breaks: bends(hidesTaskHolders)},
		{name: "inspect hides the outcomes of ended instances", caught: "inspect/outcomes", breaks: hidesOutcomes},
		{name: "inspect reverses the rows", caught: "inspect/order", breaks: bends(turnsRowsRound)},
		{name: "inspect forgets the cursor", caught: "inspect/pages", breaks: bends(forgetsCursor)},
		{name: "inspect returns pages of any size", caught: "inspect/bytes", breaks: answersAllPages},
		{name: "inspect returns rows of all keys", caught: "inspect/key", breaks: inspectsAllKeys},
		{name: "inspect returns payloads", caught: "inspect/payloads", breaks: bends(addsPayloads)},
		{name: "inspect changes what it shows", caught: "inspect/changes-nothing", breaks: touchesWhatItShows},
	}
}

// hidesOutcomes leaves out the last key with an outcome.
func hidesOutcomes(m *mutant) {
	m.inspect.after(func(req provider.InspectRequest, res *provider.InspectResult, _ *error) {
		if req.Kind == provider.InspectOutcomes && len(res.Keys) > 0 {
			res.Keys = res.Keys[:len(res.Keys)-1]
		}
	})
}

// bends changes the results of Inspect.
func bends(bend func(*provider.InspectResult)) func(*mutant) {
	return func(m *mutant) {
		m.inspect.after(func(_ provider.InspectRequest, res *provider.InspectResult, _ *error) { bend(res) })
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

func neverExpires(r *provider.InspectResult) {
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
	m.inspect.around(func(ctx context.Context, req provider.InspectRequest, inspect inspectMethod) (provider.InspectResult, error) {
		res, err := inspect(ctx, req)
		for err == nil && res.Cursor != "" {
			var more provider.InspectResult
			req.Cursor = res.Cursor
			more, err = inspect(ctx, req)
			res.Instances, res.Cursor = append(res.Instances, more.Instances...), more.Cursor
		}
		return res, err
	})
}

func inspectsAllKeys(m *mutant) {
	m.inspect.before(func(req *provider.InspectRequest) { req.Key = provider.UUID{} })
}

func touchesWhatItShows(m *mutant) {
	m.inspect.around(func(ctx context.Context, req provider.InspectRequest, inspect inspectMethod) (provider.InspectResult, error) {
		res, err := inspect(ctx, req)
		for _, i := range res.Instances {
			_, _ = m.Provider.Steer(ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerUnblock, Commit: unique()})
		}
		return res, err
	})
}
