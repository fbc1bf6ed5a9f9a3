package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

func brokenSteer() []brokenRule {
	return []brokenRule{
		{name: "a suspension ends with a fetch", caught: "steer/suspend-and-resume", breaks: fetchesAlso(suspendedWithEvent)},
		{name: "a steer makes up its version", caught: "steer/new-version", breaks: steered(inventsVersion)},
		{name: "a repeated steer is done again", caught: "steer/same-commit-again", breaks: steers(neverRepeats)},
		{name: "an ended instance is unblocked", caught: "steer/ended", breaks: unblocksEnded},
		{name: "an unknown instance counts as ended", caught: "steer/unknown", breaks: steersUnknown},
		{name: "a termination loses its result", caught: "steer/terminate", breaks: steers(losesResult)},
		{name: "a termination sends the parent no notice", caught: "steer/terminate-tells-parent", breaks: steers(tellsNoParent)},
		{name: "a termination sends its notice to a later execution of the parent", caught: "steer/terminate-of-old-parent", breaks: tellsAnyParent},
		{name: "a termination sends the children no notice", caught: "steer/terminate-tells-children", breaks: steers(tellsNoChild)},
		{name: "an unblocked instance keeps its count", caught: "steer/unblock", breaks: steered(keepsCount)},
		{name: "a reset drops events", caught: "steer/reset-running", breaks: steers(dropsEvents)},
		{name: "a reset instance still shows its end", caught: "steer/reset-ended", breaks: steered(showsEnd)},
		{name: "a reset keeps the engine level", caught: "steer/reset-level", breaks: keepsLevel},
		{name: "an unblock drops its event", caught: "steer/event", breaks: steers(unblocksSilently)},
		{name: "a steer makes up an event", caught: "steer/no-event", breaks: steers(inventsEvent)},
	}
}

// steers changes the requests of Steer.
func steers(change func(*provider.SteerRequest)) func(*mutant) {
	return func(m *mutant) { m.steer.before(change) }
}

// steered changes the results of Steer.
func steered(change func(req provider.SteerRequest, res *provider.SteerResult)) func(*mutant) {
	return func(m *mutant) {
		m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, _ *error) { change(req, res) })
	}
}

func suspendedWithEvent(i provider.Instance) bool {
	return i.Status == provider.StatusSuspended && i.Name == orchestration && i.HistoryLength == 1
}

func inventsVersion(req provider.SteerRequest, res *provider.SteerResult) {
	if req.Action == provider.SteerSuspend {
		res.Instance.Version = unique()
	}
}

func neverRepeats(req *provider.SteerRequest) { req.Commit = unique() }

func unblocksEnded(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, err *error) {
		if req.Action == provider.SteerUnblock && errors.Is(*err, provider.ErrEnded) {
			*err = nil
		}
	})
}

func steersUnknown(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, err *error) {
		if req.Key.IsZero() && errors.Is(*err, provider.ErrNotFound) {
			*err = provider.ErrEnded
		}
	})
}

func losesResult(req *provider.SteerRequest) { req.Result = nil }

func tellsNoParent(req *provider.SteerRequest) { req.ParentNotice = nil }

func tellsNoChild(req *provider.SteerRequest) { req.ChildNotice = nil }

func tellsAnyParent(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, err *error) {
		ctx, parent := context.Background(), res.Instance.Parent
		if *err == nil && req.ParentNotice != nil && m.stored(ctx, parent.Key).Execution > parent.Execution {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: parent.Key, Message: *req.ParentNotice})
		}
	})
}

func keepsCount(req provider.SteerRequest, res *provider.SteerResult) {
	if req.Action == provider.SteerUnblock {
		res.Instance.Deliveries = 1
	}
}

func dropsEvents(req *provider.SteerRequest) {
	if len(req.Events) > 1 {
		req.Events = req.Events[:1]
	}
}

func showsEnd(req provider.SteerRequest, res *provider.SteerResult) {
	if req.Action == provider.SteerReset {
		res.Instance.EndedAt = res.Now
	}
}

func keepsLevel(m *mutant) {
	m.steer.before(func(req *provider.SteerRequest) {
		req.EngineLevel = m.stored(context.Background(), req.Key).EngineLevel
	})
}

func unblocksSilently(req *provider.SteerRequest) {
	if req.Action == provider.SteerUnblock {
		req.Event = nil
	}
}

func inventsEvent(req *provider.SteerRequest) {
	if req.Action == provider.SteerUnblock && req.Event == nil {
		req.Event = []byte("unblocked")
	}
}
