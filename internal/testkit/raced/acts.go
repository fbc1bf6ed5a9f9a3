package raced

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

func steerOf(name string, action provider.SteerAction, change func(s Scene, req *provider.SteerRequest)) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		req := provider.SteerRequest{Key: s.Key(), Action: action, Commit: s.uuid("commit " + name)}
		if change != nil {
			change(s, &req)
		}
		res, err := p.Steer(ctx, req)
		return said(err, row(&res.Instance))
	}}
}

func steering() []Call {
	return []Call{
		steerOf("suspension", provider.SteerSuspend, func(_ Scene, req *provider.SteerRequest) {
			req.RequestID, req.Event = "suspend", []byte("suspended")
		}),
		steerOf("resumption", provider.SteerResume, nil),
		steerOf("termination", provider.SteerTerminate, func(s Scene, req *provider.SteerRequest) {
			child := message("the parent was terminated")
			req.ChildNotice, req.Result = &child, []byte("by an operator")
			req.Notices = []provider.OutMessage{{ID: s.id("child"), Message: message("notice")}}
		}),
		steerOf("unblocking", provider.SteerUnblock, nil),
		steerOf("move", provider.SteerMove, func(s Scene, req *provider.SteerRequest) { req.CodeVersion = s.id("moved") }),
		steerOf("drop", provider.SteerDrop, func(_ Scene, req *provider.SteerRequest) { req.MessageID, req.Reason = waiting, "unwanted" }),
		steerOf("reset", provider.SteerReset, func(_ Scene, req *provider.SteerRequest) { req.Events, req.EngineLevel = [][]byte{[]byte("again")}, 2 }),
		{Name: "deletion", Do: func(ctx context.Context, p *provider.Full, s Scene) string {
			res, err := p.Delete(ctx, provider.DeleteRequest{Key: s.Key(), Force: true})
			return said(err, res.Instances)
		}},
		{Name: "seal", Do: func(ctx context.Context, p *provider.Full, s Scene) string {
			mover, ok := provider.As[provider.Mover](p)
			if !ok {
				return "no mover"
			}
			res, err := mover.Seal(ctx, provider.SealRequest{Key: s.Key(), Transfer: s.uuid("transfer"), To: provider.SealHeld, Commit: s.uuid("commit seal")})
			return said(err, res.Seal.State, row(&res.Instance))
		}},
	}
}

func releaseOf(name string, item func(s Scene) provider.TurnRelease) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		res, err := p.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item(s)}})
		if err == nil {
			err = res.Errs[0]
		}
		return said(err)
	}}
}

func leases() []Call {
	return []Call{
		releaseOf("release", func(s Scene) provider.TurnRelease {
			return provider.TurnRelease{Key: s.Key(), Token: s.uuid("fetch 2"), Delay: hour}
		}),
		releaseOf("failed turn", func(s Scene) provider.TurnRelease { return s.failed().Items[0] }),
		releaseOf("release of a fetch", func(s Scene) provider.TurnRelease {
			return provider.TurnRelease{Kind: provider.ReleaseToken, Token: s.uuid("fetch 2")}
		}),
		releaseOf("unpin", func(s Scene) provider.TurnRelease {
			return provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: s.Key(), Owner: "node"}
		}),
		{Name: "renewal", Do: func(ctx context.Context, p *provider.Full, s Scene) string {
			res, err := p.RenewTasks(ctx, provider.RenewTasksRequest{
				Lease: 3 * hour, Owner: "node", SessionLease: 3 * hour, Items: []provider.TaskRenewal{
					{TaskRef: s.task(handedOff), Token: s.uuid("task"), Details: []byte("half")},
					{TaskRef: s.task(inSession), Token: provider.TaskToken(s.uuid("sessions"), s.task(inSession))},
				},
			})
			if err != nil {
				return said(err)
			}
			var heard strings.Builder
			heard.WriteString(said(nil, res.Sessions))
			for _, item := range res.Items {
				heard.WriteString(said(item.Err, item.State, item.CancelRequested, item.Paused))
			}
			return heard.String()
		}},
	}
}

func reportOf(name string, item func(s Scene) provider.TaskReport) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		report := item(s)
		report.Attempt = 1
		if report.Token.IsZero() {
			report.TaskRef, report.Token = s.task(handedOff), s.uuid("task")
		}
		res, err := p.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{report}})
		if err != nil {
			return said(err)
		}
		return said(res.Items[0].Err, res.Items[0].State)
	}}
}

func steerTaskOf(name string, event int64, action provider.SteerTaskAction) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		req := provider.SteerTaskRequest{TaskRef: s.task(event), Attempt: 1, Action: action}
		if action == provider.SteerTaskComplete {
			req.Message = message("completed by hand")
		}
		res, err := p.SteerTask(ctx, req)
		return said(err, res.Attempt)
	}}
}

func tasks() []Call {
	outcome := func(o provider.TaskOutcome) func(Scene) provider.TaskReport {
		return func(Scene) provider.TaskReport { return provider.TaskReport{Outcome: o, Message: message("result")} }
	}
	plain := func(o provider.TaskOutcome, delay bool) func(Scene) provider.TaskReport {
		return func(Scene) provider.TaskReport {
			item := provider.TaskReport{Outcome: o, Details: []byte("kept")}
			if delay {
				item.Delay = hour
			}
			return item
		}
	}
	return []Call{
		reportOf("result", outcome(provider.TaskComplete)),
		reportOf("poison", func(Scene) provider.TaskReport {
			return provider.TaskReport{Outcome: provider.TaskPoison, Message: message("poisoned"), Reason: "poison"}
		}),
		reportOf("retry", func(Scene) provider.TaskReport {
			return provider.TaskReport{Outcome: provider.TaskRetry, Delay: hour, Failure: []byte("failure")}
		}),
		reportOf("release of a task", plain(provider.TaskRelease, true)),
		reportOf("park", func(Scene) provider.TaskReport {
			return provider.TaskReport{Outcome: provider.TaskPark, Limit: hour, Details: []byte("kept")}
		}),
		reportOf("discard", plain(provider.TaskDiscard, false)),
		reportOf("result in a session", func(s Scene) provider.TaskReport {
			ref := s.task(inSession)
			return provider.TaskReport{TaskRef: ref, Token: provider.TaskToken(s.uuid("sessions"), ref), Outcome: provider.TaskComplete, Message: message("result")}
		}),
		steerTaskOf("hold of a task", queued, provider.SteerTaskHold),
		steerTaskOf("hold of a ranked task", ranked, provider.SteerTaskHold),
		steerTaskOf("retry by hand", handedOff, provider.SteerTaskRetry),
		steerTaskOf("result by hand", queued, provider.SteerTaskComplete),
	}
}

func fetches() []Call {
	return []Call{
		{Name: "fetch of turns", Fetches: true, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
			res, err := p.FetchTurns(ctx, s.turns("fetch 3"))
			var got strings.Builder
			for i := range res.Turns {
				fmt.Fprint(&got, row(&res.Turns[i].Instance), len(res.Turns[i].Messages), res.Turns[i].More)
			}
			return said(err, got.String())
		}},
		{Name: "fetch of tasks", Fetches: true, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
			req := s.tasks("fetched tasks", "rival", "act", "session")
			req.Sessions = provider.SessionClaim{Max: 2, Lease: hour, Idle: hour}
			res, err := p.FetchTasks(ctx, req)
			var got strings.Builder
			for i := range res.Tasks {
				task := &res.Tasks[i]
				fmt.Fprint(&got, task.EventID, task.Attempt, task.Deliveries, task.State, task.CancelRequested, " ")
			}
			return said(err, got.String(), res.Sessions)
		}},
	}
}
