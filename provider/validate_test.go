package provider_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

var (
	one   = provider.UUID{15: 1}
	two   = provider.UUID{15: 2}
	three = provider.UUID{15: 3}
	ref   = provider.TaskRef{Key: one, Execution: 1, EventID: 1}
)

func create() provider.CreateRequest {
	return provider.CreateRequest{ID: "i", Key: one, Commit: two, Name: "n"}
}

func commit() provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: one, Execution: 1, Expected: one, Commit: two, Status: provider.StatusRunning,
		Consumed: []int64{1, 2}, Events: [][]byte{{1}},
		Tasks:  []provider.NewTask{{EventID: 2, Queue: "q", Name: "a"}, {EventID: 3, Queue: "q", Name: "a"}},
		Timers: []provider.Timer{{EventID: 4, Due: 1}},
		Sends:  []provider.OutMessage{{ID: "j"}},
		Starts: []provider.Start{{Create: create()}},
	}
}

func fetchTurns() provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{Owner: "o", Token: one, Lease: time.Second, Max: 1}
}

func fetchTasks() provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: "o", Token: one, Lease: time.Second, Max: 1,
		Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"a"}}},
	}
}

func report() provider.TaskReport {
	return provider.TaskReport{TaskRef: ref, Token: one, Attempt: 1, Outcome: provider.TaskComplete}
}

type request interface{ Validate() error }

// with returns a copy of r after change.
func with[R any](r R, change func(*R)) R {
	change(&r)
	return r
}

func valid() map[string]request {
	return map[string]request{
		"create":     create(),
		"first turn": begun(),
		"get":        provider.GetRequest{ID: "i"},
		"steer":      provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerReset, Events: [][]byte{{1}}},
		"turns":      fetchTurns(),
		"commit":     commit(),
		"release":    provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: one, Token: one, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "r"}}}},
		"tasks":      fetchTasks(),
		"report":     provider.ReportTasksRequest{Items: []provider.TaskReport{report()}},
		"renew":      provider.RenewTasksRequest{Items: []provider.TaskRenewal{{TaskRef: ref, Token: one}}, Lease: time.Second},
		"send":       provider.SendRequest{ID: strings.Repeat("i", provider.MaxName), Message: provider.NewMessage{Payload: make([]byte, provider.MaxPayload)}},
		"ask":        provider.AskRequest{ID: "i", AskID: one, Wait: 1},
		"fetch asks": provider.FetchAsksRequest{Max: 1, Lease: time.Second},
		"answer":     provider.AnswerRequest{AskID: one},
		"history":    provider.ReadHistoryRequest{Key: one, From: 1},
		"list":       provider.ListRequest{},
		"count":      provider.CountRequest{},
		"stats":      provider.StatsRequest{},
		"delete":     provider.DeleteRequest{ID: "i"},
		"prune":      provider.PruneRequest{},
		"letters":    provider.DeadLettersRequest{IDs: []int64{1, 2}},
		"lease":      provider.LeaseRequest{Action: provider.LeaseAcquire, Name: "l", Owner: "o", Token: one, Duration: time.Second},
		"record":     provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"},
		"inspect":    provider.InspectRequest{Kind: provider.InspectDeadLetters},
	}
}

func TestValidateAccepts(t *testing.T) {
	for name, r := range valid() {
		t.Run(name, func(t *testing.T) {
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The engine checks each request of the hot path: a check must not allocate.
func TestValidateDoesNotAllocate(t *testing.T) {
	c, s, f, r := commit(), begun(), fetchTurns(), provider.ReportTasksRequest{Items: []provider.TaskReport{report()}}
	allocs := testing.AllocsPerRun(100, func() {
		if err := errors.Join(c.Validate(), s.Validate(), f.Validate(), r.Validate()); err != nil {
			t.Error(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

type refusal struct {
	name    string
	request request
	want    error
	text    string // the error names field and value
}

func commitWith(change func(*provider.CommitTurnRequest)) provider.CommitTurnRequest {
	return with(commit(), change)
}

func createWith(change func(*provider.CreateRequest)) provider.CreateRequest {
	return with(create(), change)
}

func reportWith(change func(*provider.TaskReport)) provider.ReportTasksRequest {
	return provider.ReportTasksRequest{Items: []provider.TaskReport{report(), with(report(), change)}}
}

func list(change func(*provider.Filter)) (r provider.ListRequest) {
	change(&r.Filter)
	return r
}

func release(item provider.TurnRelease) provider.ReleaseTurnsRequest {
	return provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}}
}

// begun is a start that carries its first turn.
func begun() provider.CreateRequest {
	return createWith(func(r *provider.CreateRequest) {
		first := commit()
		first.Expected, first.Commit, first.Consumed = r.Commit, three, nil
		r.First = &first
	})
}

func firstWith(change func(*provider.CommitTurnRequest)) provider.CreateRequest {
	return with(begun(), func(r *provider.CreateRequest) { change(r.First) })
}

// firstRefusals are first turns that only an existing instance could make.
func firstRefusals() []refusal {
	const another, busy, ends = "First: invalid request: is a turn of execution", "First: invalid request: has a Lease", "First: invalid request: ends"
	return []refusal{
		{"another key", firstWith(func(r *provider.CommitTurnRequest) { r.Key = two }), provider.ErrInvalid, another},
		{"another version", firstWith(func(r *provider.CommitTurnRequest) { r.Expected = one }), provider.ErrInvalid, another},
		{"another execution", firstWith(func(r *provider.CommitTurnRequest) { r.Execution = 2 }), provider.ErrInvalid, another + " 2"},
		{"another length", firstWith(func(r *provider.CommitTurnRequest) { r.Length = 1 }), provider.ErrInvalid, another},
		{"lease", firstWith(func(r *provider.CommitTurnRequest) { r.Lease = one }), provider.ErrInvalid, busy},
		{"completion", firstWith(func(r *provider.CommitTurnRequest) {
			r.Completes = []provider.TaskCompletion{{EventID: 1, Token: one}}
		}), provider.ErrInvalid, busy},
		{"consumed", firstWith(func(r *provider.CommitTurnRequest) { r.Consumed = []int64{1} }), provider.ErrInvalid, busy},
		{"end", firstWith(func(r *provider.CommitTurnRequest) { r.Status = provider.StatusFailed }), provider.ErrInvalid, ends},
		{"suspension", firstWith(func(r *provider.CommitTurnRequest) { r.Status = provider.StatusSuspended }), provider.ErrInvalid, ends},
		{"continuation", firstWith(func(r *provider.CommitTurnRequest) { r.Next = &provider.NextExecution{} }), provider.ErrInvalid, ends},
		{"delay", with(begun(), func(r *provider.CreateRequest) { r.Message.Delay = time.Second }), provider.ErrInvalid, "First: invalid request: is set with a Message whose Delay is 1s"},
		{"own fault", firstWith(func(r *provider.CommitTurnRequest) { r.Commit = r.Expected }), provider.ErrInvalid, "create: First: commit turn: Commit"},
		{"ahead", firstWith(func(r *provider.CommitTurnRequest) { r.Ahead = true }), provider.ErrInvalid, "First: commit turn: Ahead"},
		{"payload", firstWith(func(r *provider.CommitTurnRequest) {
			r.Events = [][]byte{make([]byte, provider.MaxPayload+1)}
		}), provider.ErrTooLarge, "First: commit turn: Events[0]"},
		{"child", commitWith(func(r *provider.CommitTurnRequest) { r.Starts[0].Create = begun() }), provider.ErrInvalid, "Starts[0]: Create.First"},
		{"grandchild", firstWith(func(r *provider.CommitTurnRequest) { r.Starts[0].Create = begun() }), provider.ErrInvalid, "First: commit turn: Starts[0]: Create.First"},
	}
}

func instanceRefusals() []refusal {
	big := make([]byte, provider.MaxPayload+1)
	return []refusal{
		{"no ID", createWith(func(r *provider.CreateRequest) { r.ID = "" }), provider.ErrInvalid, "create: ID"},
		{"NUL", createWith(func(r *provider.CreateRequest) { r.ID = "a\x00b" }), provider.ErrInvalid, `"a\x00b"`},
		{"not UTF-8", createWith(func(r *provider.CreateRequest) { r.Name = "a\xff" }), provider.ErrInvalid, "Name"},
		{"long ID", createWith(func(r *provider.CreateRequest) { r.ID = strings.Repeat("x", 513) }), provider.ErrInvalid, "513 bytes"},
		{"no key", createWith(func(r *provider.CreateRequest) { r.Key = provider.UUID{} }), provider.ErrInvalid, "Key"},
		{"no commit", createWith(func(r *provider.CreateRequest) { r.Commit = provider.UUID{} }), provider.ErrInvalid, "Commit"},
		{"replaces", createWith(func(r *provider.CreateRequest) { r.Replaces = one }), provider.ErrInvalid, "Replaces"},
		{"policy", createWith(func(r *provider.CreateRequest) { r.Policy = 9 }), provider.ErrInvalid, "Policy: invalid request: is 9"},
		{"half a parent", createWith(func(r *provider.CreateRequest) { r.Parent.Key = one }), provider.ErrInvalid, "Parent: ID"},
		{"parent without key", createWith(func(r *provider.CreateRequest) { r.Parent.ID = "p" }), provider.ErrInvalid, "Parent: Key"},
		{"attribute kind", createWith(func(r *provider.CreateRequest) { r.Attributes = []provider.Attribute{{Name: "a"}} }), provider.ErrInvalid, "Attributes[0]: Kind"},
		{"start message", createWith(func(r *provider.CreateRequest) { r.Message.Payload = big }), provider.ErrTooLarge, "Message: Payload"},
		{"too many messages", createWith(func(r *provider.CreateRequest) { r.Messages = make([]provider.NewMessage, 1001) }), provider.ErrTooLarge, "Messages"},
		{"message of a start", createWith(func(r *provider.CreateRequest) {
			r.Messages = []provider.NewMessage{{}, {Payload: big}}
		}), provider.ErrTooLarge, "Messages[1]: Payload"},
		{"messages in total", createWith(func(r *provider.CreateRequest) {
			for range 16 {
				r.Messages = append(r.Messages, provider.NewMessage{Payload: big[1:]})
			}
		}), provider.ErrTooLarge, "payloads"},
		{"delayed message of a first turn", with(begun(), func(r *provider.CreateRequest) {
			r.Messages = []provider.NewMessage{{Delay: 1}}
		}), provider.ErrInvalid, "Messages[0]"},
		{"listener", createWith(func(r *provider.CreateRequest) { r.Listener = &provider.Listener{} }), provider.ErrInvalid, "Listener.Key"},
		{"message of a listener", createWith(func(r *provider.CreateRequest) {
			r.Listener = &provider.Listener{Key: one, Message: provider.NewMessage{Payload: big}}
		}), provider.ErrTooLarge, "Listener.Message: Payload"},
		{"replies and a refusal", commitWith(func(r *provider.CommitTurnRequest) {
			r.Sends = []provider.OutMessage{{Key: two, Refused: &provider.NewMessage{}, Replies: &provider.Replies{}}}
		}), provider.ErrInvalid, "Sends[0]: Refused"},
		{"accepted start", commitWith(func(r *provider.CommitTurnRequest) {
			r.Starts = []provider.Start{{Create: createWith(func(*provider.CreateRequest) {}), Accepted: &provider.NewMessage{Delay: -1}}}
		}), provider.ErrInvalid, "Starts[0]: Accepted"},
		{"reply", commitWith(func(r *provider.CommitTurnRequest) {
			r.Sends = []provider.OutMessage{{Key: two, Replies: &provider.Replies{Full: provider.NewMessage{Delay: -1}}}}
		}), provider.ErrInvalid, "Sends[0]: Replies.Full"},
		{"message level", provider.SendRequest{ID: "i", Message: provider.NewMessage{EngineLevel: -1}}, provider.ErrInvalid, "Message: EngineLevel"},
		{"negative delay", createWith(func(r *provider.CreateRequest) { r.Message.Delay = -1 }), provider.ErrInvalid, "Delay"},
		{"get nothing", provider.GetRequest{}, provider.ErrInvalid, "Key"},
		{"get wait", provider.GetRequest{ID: "i", Wait: -1}, provider.ErrInvalid, "Wait"},
		{"steer action", provider.SteerRequest{Key: one, Commit: one}, provider.ErrInvalid, "Action"},
		{"steer commit", provider.SteerRequest{Key: one, Action: provider.SteerResume}, provider.ErrInvalid, "Commit"},
		{"suspend with result", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, Result: big[:1]}, provider.ErrInvalid, "Terminate"},
		{"suspend with events", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, Events: [][]byte{{1}}}, provider.ErrInvalid, "Reset"},
		{"suspend with a version", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, CodeVersion: "2"}, provider.ErrInvalid, "CodeVersion"},
		{"fenced suspend", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, Expected: one}, provider.ErrInvalid, "Expected"},
		{"drop of nothing", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerDrop, Reason: "r"}, provider.ErrInvalid, "MessageID"},
		{"drop without a reason", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerDrop, MessageID: 1}, provider.ErrInvalid, "Reason"},
		{"suspend with a message", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, MessageID: 1}, provider.ErrInvalid, "Drop"},
		{
			"suspend with notices",
			provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerSuspend, Notices: []provider.OutMessage{{ID: "i"}}},
			provider.ErrInvalid, "Notices",
		},
		{
			"notice to nobody",
			provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerTerminate, Notices: []provider.OutMessage{{}}},
			provider.ErrInvalid, "ID",
		},
		{"move onto itself", provider.SteerRequest{Key: one, Commit: one, Action: provider.SteerMove, Expected: one}, provider.ErrInvalid, "Commit"},
		{"send to nobody", provider.SendRequest{}, provider.ErrInvalid, "send: ID"},
		{"ask without wait", provider.AskRequest{ID: "i", AskID: one}, provider.ErrInvalid, "Wait"},
		{"ask without ID", provider.AskRequest{ID: "i", Wait: 1}, provider.ErrInvalid, "AskID"},
		{"fetch asks lease", provider.FetchAsksRequest{Max: 1}, provider.ErrInvalid, "Lease"},
		{"answer", provider.AnswerRequest{}, provider.ErrInvalid, "AskID"},
	}
}

func turnRefusals() []refusal {
	big := make([]byte, provider.MaxPayload+1)
	events := make([][]byte, 17)
	for i := range events {
		events[i] = big[:2<<20]
	}
	none := provider.UUID{}
	child, why := provider.NewMessage{}, &provider.TurnFailure{Reason: "r"}
	return []refusal{
		{"fetch owner", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Owner = "" }), provider.ErrInvalid, "fetch turns: Owner"},
		{"fetch token", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Token = none }), provider.ErrInvalid, "Token"},
		{"fetch none", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Max = 0 }), provider.ErrInvalid, "Max"},
		{"fetch many", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Max = 1001 }), provider.ErrTooLarge, "Max"},
		{"no lease", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Lease = 0 }), provider.ErrInvalid, "Lease"},
		{"long lease", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Lease = 25 * time.Hour }), provider.ErrTooLarge, "25h"},
		{"many capabilities", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Capabilities = make([]provider.Capability, 1001) }), provider.ErrTooLarge, "1001"},
		{"empty capability", with(fetchTurns(), func(r *provider.FetchTurnsRequest) { r.Capabilities = make([]provider.Capability, 1) }), provider.ErrInvalid, "Capabilities[0]: Name"},
		{"release token", provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: one}}}, provider.ErrInvalid, "Items[0]: Token"},
		{"release kind", release(provider.TurnRelease{Kind: 9, Key: one, Token: one}), provider.ErrInvalid, "Kind: invalid request: is 9"},
		{"release a failure without a kind", release(provider.TurnRelease{Key: one, Token: one, Failure: why}), provider.ErrInvalid, "Failure"},
		{"release no failure", release(provider.TurnRelease{Kind: provider.ReleaseFailed, Key: one, Token: one}), provider.ErrInvalid, "Failure: invalid request: is nil"},
		{"release an owner", release(provider.TurnRelease{Key: one, Token: one, Owner: "o"}), provider.ErrInvalid, "Owner"},
		{"release all of a key", release(provider.TurnRelease{Kind: provider.ReleaseToken, Key: one, Token: one}), provider.ErrInvalid, "Key"},
		{"release all of no token", release(provider.TurnRelease{Kind: provider.ReleaseToken}), provider.ErrInvalid, "Token"},
		{"unpin nobody", release(provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: one}), provider.ErrInvalid, "Owner"},
		{"unpin a token", release(provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: one, Owner: "o", Token: one}), provider.ErrInvalid, "Token"},
		{"unpin later", release(provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: one, Owner: "o", Delay: 1}), provider.ErrInvalid, "Delay"},
		{"release all of a task", reportWith(func(r *provider.TaskReport) { r.Outcome = provider.TaskReleaseAll }), provider.ErrInvalid, "TaskRef"},
		{"commit key", commitWith(func(r *provider.CommitTurnRequest) { r.Key = none }), provider.ErrInvalid, "Key"},
		{"commit ending a session without a name", commitWith(func(r *provider.CommitTurnRequest) { r.EndSessions = []string{"s", ""} }), provider.ErrInvalid, "EndSessions[1]"},
		{"same commit", commitWith(func(r *provider.CommitTurnRequest) { r.Commit = r.Expected }), provider.ErrInvalid, "Commit"},
		{"execution 0", commitWith(func(r *provider.CommitTurnRequest) { r.Execution = 0 }), provider.ErrInvalid, "Execution"},
		{"no status", commitWith(func(r *provider.CommitTurnRequest) { r.Status = 0 }), provider.ErrInvalid, "Status"},
		{"suspended", commitWith(func(r *provider.CommitTurnRequest) { r.Status = provider.StatusSuspended }), provider.ErrInvalid, "Suspended"},
		{"continued", commitWith(func(r *provider.CommitTurnRequest) { r.Status = provider.StatusContinuedAsNew }), provider.ErrInvalid, "ContinuedAsNew"},
		{"next of an ended one", commitWith(func(r *provider.CommitTurnRequest) {
			r.Status, r.Next = provider.StatusFailed, &provider.NextExecution{}
		}), provider.ErrInvalid, "Next"},
		{"result while running", commitWith(func(r *provider.CommitTurnRequest) { r.Result = big[:1] }), provider.ErrInvalid, "Result"},
		{"inbox closed while running", commitWith(func(r *provider.CommitTurnRequest) { r.CloseInbox = "x" }), provider.ErrInvalid, "CloseInbox"},
		{"event size", commitWith(func(r *provider.CommitTurnRequest) { r.Events = [][]byte{nil, big} }), provider.ErrTooLarge, "Events[1]"},
		{"commit size", commitWith(func(r *provider.CommitTurnRequest) { r.Events = events }), provider.ErrTooLarge, "in total"},
		{"rows", commitWith(func(r *provider.CommitTurnRequest) { r.Events = make([][]byte, provider.MaxCommitRows+1) }), provider.ErrTooLarge, "25001"},
		{"task twice", commitWith(func(r *provider.CommitTurnRequest) { r.Tasks[1].EventID = 2 }), provider.ErrInvalid, "Tasks: invalid request: names ID 2 twice"},
		{"timer twice", commitWith(func(r *provider.CommitTurnRequest) {
			r.Timers = []provider.Timer{{EventID: 7, Due: 1}, {EventID: 3, Due: 1}, {EventID: 7, Due: 1}}
		}), provider.ErrInvalid, "7 twice"},
		{"consumed 0", commitWith(func(r *provider.CommitTurnRequest) { r.Consumed[0] = 0 }), provider.ErrInvalid, "Consumed[0]"},
		{"timer without due", commitWith(func(r *provider.CommitTurnRequest) { r.Timers[0].Due = 0 }), provider.ErrInvalid, "Timers[0]: Due"},
		{"priority", commitWith(func(r *provider.CommitTurnRequest) { r.Tasks[0].Priority = 6 }), provider.ErrInvalid, "Priority"},
		{"task lease", commitWith(func(r *provider.CommitTurnRequest) { r.Tasks[0].Lease = &provider.TaskLease{} }), provider.ErrInvalid, "Lease.Token"},
		{"task queue", commitWith(func(r *provider.CommitTurnRequest) { r.Tasks[0].Queue = "" }), provider.ErrInvalid, "Queue"},
		{"send", commitWith(func(r *provider.CommitTurnRequest) { r.Sends[0].ID = "" }), provider.ErrInvalid, "Sends[0]: ID"},
		{"start policy", commitWith(func(r *provider.CommitTurnRequest) { r.Starts[0].Create.Policy = provider.IDUseExisting }), provider.ErrInvalid, "Starts[0]: Create.Policy"},
		{"refused start", commitWith(func(r *provider.CommitTurnRequest) {
			child.Payload = big
			r.Starts[0].Refused = child
		}), provider.ErrTooLarge, "Refused"},
		{"sticky", commitWith(func(r *provider.CommitTurnRequest) { r.Sticky = 1 }), provider.ErrInvalid, "Owner"},
		{"complete token", commitWith(func(r *provider.CommitTurnRequest) { r.Completes = []provider.TaskCompletion{{EventID: 1}} }), provider.ErrInvalid, "Token"},
	}
}

func otherRefusals() []refusal {
	big := make([]byte, provider.MaxPayload+1)
	return []refusal{
		{"fetch tasks token", with(fetchTasks(), func(r *provider.FetchTasksRequest) { r.Token = provider.UUID{} }), provider.ErrInvalid, "Token"},
		{"fetch tasks queue", with(fetchTasks(), func(r *provider.FetchTasksRequest) { r.Queues = []provider.QueueFilter{{}} }), provider.ErrInvalid, "Queues[0]: Queue"},
		{"report outcome", reportWith(func(r *provider.TaskReport) { r.Outcome = 0 }), provider.ErrInvalid, "Items[1]: Outcome"},
		{"report attempt", reportWith(func(r *provider.TaskReport) { r.Attempt = 0 }), provider.ErrInvalid, "Attempt"},
		{"report token", reportWith(func(r *provider.TaskReport) { r.Token = provider.UUID{} }), provider.ErrInvalid, "Token"},
		{"report delay", reportWith(func(r *provider.TaskReport) { r.Delay = -1 }), provider.ErrInvalid, "Delay"},
		{"report details", reportWith(func(r *provider.TaskReport) { r.Details = big }), provider.ErrTooLarge, "Details"},
		{"report batch", provider.ReportTasksRequest{Items: make([]provider.TaskReport, 1001)}, provider.ErrTooLarge, "1001"},
		{"fetch tasks places", with(fetchTasks(), func(r *provider.FetchTasksRequest) {
			r.Queues = []provider.QueueFilter{{Queue: "q", MaxLeased: -1}}
		}), provider.ErrInvalid, "Queues[0]: MaxLeased"},
		{"fetch tasks sessions", with(fetchTasks(), func(r *provider.FetchTasksRequest) {
			r.Sessions = provider.SessionClaim{Max: 1, Lease: 1}
		}), provider.ErrInvalid, "Sessions: Idle"},
		{"renew lease", provider.RenewTasksRequest{}, provider.ErrInvalid, "Lease"},
		{"renew sessions", provider.RenewTasksRequest{Lease: 1, Owner: "o"}, provider.ErrInvalid, "SessionLease"},
		{"renew token", provider.RenewTasksRequest{Lease: 1, Items: []provider.TaskRenewal{{TaskRef: ref}}}, provider.ErrInvalid, "Token"},
		{"history from", provider.ReadHistoryRequest{Key: one}, provider.ErrInvalid, "From"},
		{"history bytes", provider.ReadHistoryRequest{Key: one, From: 1, MaxBytes: 5 << 20}, provider.ErrTooLarge, "MaxBytes"},
		{"list page", provider.ListRequest{Max: 1001}, provider.ErrTooLarge, "Max"},
		{"list status", provider.ListRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusReset}}}, provider.ErrInvalid, "Reset"},
		{"count prefix", provider.CountRequest{Filter: provider.Filter{IDPrefix: "\xff"}}, provider.ErrInvalid, "IDPrefix"},
		{"delete nothing", provider.DeleteRequest{}, provider.ErrInvalid, "delete: ID"},
		{"list version", list(func(f *provider.Filter) { f.CodeVersions = []string{"\xff"} }), provider.ErrInvalid, "CodeVersions[0]"},
		{"list match", list(func(f *provider.Filter) { f.Matches = []provider.AttributeMatch{{Name: "a"}} }), provider.ErrInvalid, "Kind"},
		{
			"list match by prefix", list(func(f *provider.Filter) {
				f.Matches = []provider.AttributeMatch{{Name: "a", Kind: provider.AttributeInt, Prefix: "p"}}
			}), provider.ErrInvalid, "Prefix",
		},
		{
			"list match by a number", list(func(f *provider.Filter) {
				f.Matches = []provider.AttributeMatch{{Name: "a", Kind: provider.AttributeText, From: &provider.AttributeValue{Number: 1}}}
			}), provider.ErrInvalid, "From: Number",
		},
		{
			"list match by a text", list(func(f *provider.Filter) {
				f.Matches = []provider.AttributeMatch{{Name: "a", Kind: provider.AttributeBool, Any: []provider.AttributeValue{{}, {Text: "t"}}}}
			}), provider.ErrInvalid, "Any[1]: Text",
		},
		{"list omit", provider.ListRequest{Omit: []provider.ListField{provider.ListBlockedMessage + 1}}, provider.ErrInvalid, "Omit[0]"},
		{"stats most", provider.StatsRequest{Most: -1}, provider.ErrInvalid, "Most"},
		{"list parents", list(func(f *provider.Filter) { f.ParentKeys = make([]provider.UUID, provider.MaxPage+1) }), provider.ErrTooLarge, "ParentKeys"},
		{"count max", provider.CountRequest{Max: -1}, provider.ErrInvalid, "Max"},
		{"prune name", provider.PruneRequest{Names: []string{""}}, provider.ErrInvalid, "Names[0]"},
		{"prune status", provider.PruneRequest{Statuses: []provider.Status{provider.StatusRunning}}, provider.ErrInvalid, "Running"},
		{"prune age", provider.PruneRequest{Age: -1}, provider.ErrInvalid, "Age"},
		{"letters action", provider.DeadLettersRequest{Action: 7}, provider.ErrInvalid, "Action"},
		{"letters ID", provider.DeadLettersRequest{IDs: []int64{0}}, provider.ErrInvalid, "IDs[0]"},
		{"lease action", provider.LeaseRequest{Name: "l", Token: one}, provider.ErrInvalid, "Action"},
		{"lease owner", provider.LeaseRequest{Action: provider.LeaseAcquire, Name: "l", Token: one, Duration: 1}, provider.ErrInvalid, "Owner"},
		{"record key", provider.RecordRequest{Action: provider.RecordGet, Namespace: "n"}, provider.ErrInvalid, "Key"},
		{"inspect nothing", provider.InspectRequest{}, provider.ErrInvalid, "Kind"},
		{"inspect what", provider.InspectRequest{Kind: provider.InspectDeadLetters + 1}, provider.ErrInvalid, "Kind"},
		{"inspect page", provider.InspectRequest{Kind: provider.InspectTasks, Max: 1001}, provider.ErrTooLarge, "Max"},
		{"record value", provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: "k", Value: big}, provider.ErrTooLarge, "Value"},
	}
}

func TestValidateRefuses(t *testing.T) {
	groups := map[string][]refusal{"instance": instanceRefusals(), "first": firstRefusals(), "turn": turnRefusals(), "other": otherRefusals()}
	for group, cases := range groups {
		for _, c := range cases {
			t.Run(group+"/"+c.name, func(t *testing.T) {
				err := c.request.Validate()
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v, want %v naming %s", err, c.want, c.text)
				}
				if got := provider.OutcomeOf(err); got != provider.OutcomeNothing {
					t.Errorf("outcome %v, want nothing happened", got)
				}
			})
		}
	}
}
