package relational

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// The requests that cases change.
type (
	turnReq      = provider.CommitTurnRequest
	createReq    = provider.CreateRequest
	steerReq     = provider.SteerRequest
	resetReq     = provider.ResetRequest
	forkReq      = provider.ForkRequest
	taskReport   = provider.TaskReport
	renewReq     = provider.RenewTasksRequest
	steerTaskReq = provider.SteerTaskRequest
	sendReq      = provider.SendRequest
	sealReq      = provider.SealRequest
	importReq    = provider.ImportRequest
)

// valid panics for a request that breaks the contract: rules never get one.
func valid(err error) {
	if err != nil {
		panic(err)
	}
}

// with returns a request with changes.
func with[T any](req T, changes []func(*T)) T {
	for _, change := range changes {
		change(&req)
	}
	return req
}

// asRule returns a rule for a request. It returns what told makes of the result.
func asRule[Req, Res any](req Req, do func(*Tx, *Req, *Res) error, told func(*Res) string) rule {
	return func(t *Tx) (string, error) {
		var res Res
		if err := do(t, &req, &res); err != nil {
			return "", err
		}
		return told(&res), nil
	}
}

// inTurn calls rules one after another, in one transaction. It returns what the last one returns.
func inTurn(calls ...rule) rule {
	return func(t *Tx) (res string, err error) {
		for _, call := range calls {
			if res, err = call(t); err != nil {
				return "", err
			}
		}
		return res, nil
	}
}

func msg(payload string) provider.NewMessage {
	return provider.NewMessage{Kind: 1, Payload: []byte(payload)}
}

// leveled returns a message that only nodes of a level can read.
func leveled(level int64) provider.NewMessage {
	return provider.NewMessage{Kind: 1, EngineLevel: level}
}

// commits commits a turn of i that does nothing, with changes.
func commits(changes ...func(*turnReq)) rule {
	req := with(turnReq{
		Key: u("i"), Execution: 1, Expected: u("v1"), Length: 2, Commit: u("v2"), Status: provider.StatusRunning,
	}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).CommitTurn, func(res *provider.CommitTurnResult) string { return fmt.Sprintf("ready %d", res.ReadyAt) })
}

// newInstance is a request for instance c.
func newInstance(changes ...func(*createReq)) createReq {
	return with(createReq{
		ID: "c", Key: u("c"), Commit: u("c1"), Name: "f", CodeVersion: "1", EngineLevel: 1, Message: msg("s"),
	}, changes)
}

// creates creates instance c.
func creates(changes ...func(*createReq)) rule {
	req := newInstance(changes...)
	valid(req.Validate())
	return asRule(req, (*Tx).Create, toldCreated)
}

func toldCreated(res *provider.CreateResult) string {
	return fmt.Sprintf("%s created %t, begun %t, at %s", named(res.Instance.Key), res.Created, res.Begun, named(res.Instance.Version))
}

// forks makes instance c of a prefix.
func forks(changes ...func(*forkReq)) rule {
	req := with(forkReq{
		Create: newInstance(func(r *createReq) { r.Message = provider.NewMessage{} }), Prefix: provider.Prefix{Events: [][]byte{[]byte("p1")}},
	}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).Fork, toldCreated)
}

func toldInstance(res *provider.SteerResult) string {
	in := &res.Instance
	return fmt.Sprintf("%s %s at %s", named(in.Key), in.Status, named(in.Version))
}

// steers acts on i.
func steers(action provider.SteerAction, changes ...func(*steerReq)) rule {
	req := with(steerReq{Key: u("i"), Action: action, Commit: u("v2")}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).Steer, toldInstance)
}

// resets resets i to a prefix.
func resets(changes ...func(*resetReq)) rule {
	req := with(resetReq{
		Key: u("i"), Commit: u("v2"), Expected: u("v1"), Name: "f", CodeVersion: "1", EngineLevel: 1,
		Prefix: provider.Prefix{Events: [][]byte{[]byte("p1")}},
	}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).ResetTo, toldInstance)
}

var stateNames = [...]string{"", "running", "terminal", "missing"}

func toldState(s provider.ExecutionState, err error) string {
	text := stateNames[s.Kind]
	if s.Status != 0 {
		text += " " + s.Status.String()
	}
	switch {
	case errors.Is(err, provider.ErrMoved):
		text += ", moved"
	case errors.Is(err, provider.ErrLeaseLost):
		text += ", lease lost"
	case err != nil:
		text += ", " + err.Error()
	}
	return text
}

// reports reports the outcome of task 3 of i by its first attempt, under token t.
func reports(outcome provider.TaskOutcome, changes ...func(*taskReport)) rule {
	item := taskReport{TaskRef: ref("i", 3), Token: u("t"), Attempt: 1, Outcome: outcome}
	if outcome == provider.TaskReleaseAll {
		item.TaskRef, item.Attempt = provider.TaskRef{}, 0
	}
	return reportsAll(with(item, changes))
}

func reportsAll(items ...taskReport) rule {
	req := provider.ReportTasksRequest{Items: items}
	valid(req.Validate())
	return asRule(req, (*Tx).ReportTasks, func(res *provider.ReportTasksResult) string {
		var out []string
		for _, item := range res.Items {
			out = append(out, toldState(item.State, item.Err))
		}
		return strings.Join(out, "; ")
	})
}

// renews renews task 3 of i.
func renews(changes ...func(*renewReq)) rule {
	req := with(renewReq{Items: []provider.TaskRenewal{{TaskRef: ref("i", 3), Token: u("t")}}, Lease: us(100)}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).RenewTasks, func(res *provider.RenewTasksResult) string {
		out := []string{fmt.Sprintf("%d sessions", res.Sessions)}
		for _, item := range res.Items {
			text := toldState(item.State, item.Err)
			if item.CancelRequested {
				text += ", cancelled"
			}
			if item.Paused {
				text += ", paused"
			}
			out = append(out, fmt.Sprintf("%s until %d", text, item.LeaseUntil))
		}
		return strings.Join(out, "; ")
	})
}

// steersTask acts on the first attempt of task 3 of i.
func steersTask(action provider.SteerTaskAction, changes ...func(*steerTaskReq)) rule {
	req := with(steerTaskReq{TaskRef: ref("i", 3), Attempt: 1, Action: action}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).SteerTask, func(res *provider.SteerTaskResult) string { return fmt.Sprintf("attempt %d", res.Attempt) })
}

// sends sends a message to i.
func sends(changes ...func(*sendReq)) rule {
	req := with(sendReq{Key: u("i"), Message: msg("hi")}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).Send, func(res *provider.SendResult) string { return fmt.Sprintf("%s %d", named(res.Key), res.MessageID) })
}

// releases ends turn leases.
func releases(items ...provider.TurnRelease) rule {
	req := provider.ReleaseTurnsRequest{Items: items}
	valid(req.Validate())
	return asRule(req, (*Tx).ReleaseTurns, func(res *provider.ReleaseTurnsResult) string { return fmt.Sprint(res.Errs) })
}

// seals seals i by transfer x.
func seals(to provider.SealState, changes ...func(*sealReq)) rule {
	req := with(sealReq{Key: u("i"), Transfer: u("x"), To: to, Commit: u("v2")}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).Seal, func(res *provider.SealResult) string {
		return fmt.Sprintf("%s %s by %s", res.Instance.Status, res.Seal.State, named(res.Seal.Transfer))
	})
}

// imports imports the only page of instance i by transfer x.
func imports(changes ...func(*importReq)) rule {
	req := with(importReq{
		Key: u("i"), Transfer: u("x"), Last: true, At: 900,
		Parcel: provider.Parcel{Head: &provider.MovedHead{Instance: provider.Instance{
			ID: "i", Key: u("i"), Name: "f", CodeVersion: "1", EngineLevel: 1, Status: provider.StatusRunning, Execution: 3, Version: u("w1"),
			HistoryLength: 7, HistoryBytes: 70, UpdatedAt: 800,
		}, NextMessage: 9}},
	}, changes)
	valid(req.Validate())
	return asRule(req, (*Tx).Import, func(res *provider.ImportResult) string { return fmt.Sprintf("%s, done %t", res.Seal.State, res.Done) })
}
