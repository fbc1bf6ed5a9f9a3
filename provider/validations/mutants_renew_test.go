package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenRenew() []brokenRule {
	return []brokenRule{
		{name: "a renewal returns no LeaseUntil", caught: "renew/extends", breaks: renewed(hidesUntil)},
		{name: "a renewal never returns Paused", caught: "renew/suspended", breaks: renewed(hidesPause)},
		{name: "a lost lease comes before the end", caught: "renew/terminal", breaks: putsLossFirst},
		{name: "a lost lease is returned before Missing", caught: "renew/missing", breaks: renewed(losesMissing)},
		{name: "an unknown execution counts as running", caught: "renew/unknown-execution", breaks: renewed(runsUnknown)},
		{name: "a renewal by a wrong token succeeds", caught: "renew/lost", wide: true, breaks: renewsForAnyone},
		{name: "a renewal without details clears them", caught: "renew/details", breaks: clearsDetails},
		{name: "one bad token fails the batch", caught: "renew/batch", breaks: failsTheBatch},
		{name: "a renewal counts as a delivery", caught: "renew/delivery-stays", breaks: countsRenewals},
	}
}

func hidesUntil(_ provider.TaskRenewal, res *provider.TaskRenewalResult) { res.LeaseUntil = 0 }

func hidesPause(_ provider.TaskRenewal, res *provider.TaskRenewalResult) { res.Paused = false }

func putsLossFirst(m *mutant) {
	var known sync.Map
	m.tasks.before(func(req *provider.FetchTasksRequest) { known.Store(req.Token, true) })
	m.commit.before(func(req *provider.CommitTurnRequest) {
		for _, task := range req.Tasks {
			if task.Lease != nil {
				known.Store(task.Lease.Token, true)
			}
		}
	})
	renewed(func(item provider.TaskRenewal, res *provider.TaskRenewalResult) {
		if _, ok := known.Load(item.Token); !ok && res.State.Kind == provider.ExecutionTerminal {
			res.Err = provider.ErrLeaseLost
		}
	})(m)
}

func losesMissing(_ provider.TaskRenewal, res *provider.TaskRenewalResult) {
	if res.State.Kind == provider.ExecutionMissing {
		res.Err = provider.ErrLeaseLost
	}
}

func runsUnknown(item provider.TaskRenewal, res *provider.TaskRenewalResult) {
	if res.State.Kind == provider.ExecutionMissing && item.Execution > 1 {
		res.State.Kind, res.Err = provider.ExecutionRunning, provider.ErrLeaseLost
	}
}

func renewsForAnyone(m *mutant) {
	renewed(func(item provider.TaskRenewal, res *provider.TaskRenewalResult) {
		if _, there := m.pending(context.Background(), item.TaskRef); there {
			res.Err = nil
		}
	})(m)
}

func clearsDetails(m *mutant) {
	m.renew.before(func(req *provider.RenewTasksRequest) {
		items := make([]provider.TaskRenewal, len(req.Items))
		copy(items, req.Items)
		for n := range items {
			if items[n].Details == nil {
				items[n].Details = []byte{}
			}
		}
		req.Items = items
	})
}

func failsTheBatch(m *mutant) {
	m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, err *error) {
		for _, item := range res.Items {
			if item.Err != nil && len(req.Items) > 1 {
				*err = item.Err
			}
		}
	})
}

func countsRenewals(m *mutant) {
	var times sync.Map
	renewed(func(item provider.TaskRenewal, res *provider.TaskRenewalResult) {
		if res.Err == nil {
			times.Store(item.TaskRef, true)
		}
	})(m)
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n, task := range res.Tasks {
			if _, ok := times.Load(task.TaskRef); ok {
				res.Tasks[n].Deliveries++
			}
		}
	})
}
