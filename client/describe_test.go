package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{Errors: declined(t)})
		begin := time.Now().UTC()
		child := w.child(w.Start(client.WithID("parent")), "child")
		w.Commit(child.Key(), func(req *provider.CommitTurnRequest) {
			for i, name := range []string{"Charge", "Ship", "Mail"} {
				req.Tasks = append(req.Tasks, provider.NewTask{EventID: int64(10 + i), Queue: "default", Name: name})
			}
		})
		w.tasks("Charge", provider.TaskReport{
			Outcome: provider.TaskRetry, Attempt: 1, Details: []byte(`{"at":5}`),
			Failure: history.EncodeFailure(history.Failure{Message: "declined", Causes: []history.Failure{{Message: "why"}}}),
		})
		w.tasks("Ship", provider.TaskReport{Outcome: provider.TaskPark, Attempt: 1, Details: []byte("\xff")})
		w.tasks("Mail", provider.TaskReport{})
		d, err := w.Describe(t.Context(), "child")
		if err != nil {
			t.Fatal(err)
		}
		if d.ID != "child" || d.Key != child.Key() || d.Orchestration != "Child" || d.Status != client.StatusRunning || d.Execution != 1 ||
			d.HistoryLength != 1 || d.Parent.ID != "parent" || d.Parent.EventID != 2 || !d.CreatedAt.Equal(begin) || !d.AsOf.Equal(begin) ||
			!d.EndedAt.IsZero() || d.Blocked != nil || d.Result != nil || d.Failure != nil || d.InboxMessages != 0 {
			t.Errorf("described as %+v", d)
		}
		charge, ship, mail := d.Activities[0], d.Activities[1], d.Activities[2]
		if charge.Name != "Charge" || charge.EventID != 10 || charge.State != client.ActivityQueued || charge.Attempt != 2 ||
			string(charge.Heartbeat) != `{"at":5}` || charge.Failure.Message != "declined" || charge.Failure.Causes[0].Message != "why" {
			t.Errorf("Charge is %+v", charge)
		}
		if ship.State != client.ActivityParked || string(ship.Heartbeat) != `"/w=="` || ship.Failure != nil {
			t.Errorf("Ship is %+v", ship)
		}
		if mail.State != client.ActivityRunning || mail.Owner != "worker" || !mail.LeaseUntil.Equal(begin.Add(time.Minute)) {
			t.Errorf("Mail is %+v", mail)
		}
		if h, err := child.Describe(t.Context()); err != nil || h.Key != d.Key {
			t.Errorf("by handle: %+v, %v", h, err)
		}
	})
}

// tasks leases the activity's task and reports it, unless there is nothing to report.
func (w *world) tasks(name string, report provider.TaskReport) {
	w.t.Helper()
	token := provider.UUID(uuid.New())
	res, err := w.store.FetchTasks(w.t.Context(), provider.FetchTasksRequest{
		Owner: "worker", Token: token, Lease: time.Minute, Max: 1, Queues: []provider.QueueFilter{{Queue: "default", Names: []string{name}}},
	})
	if err != nil || len(res.Tasks) != 1 {
		w.t.Fatal(len(res.Tasks), err)
	}
	if report.Outcome == 0 {
		return
	}
	report.TaskRef, report.Token = res.Tasks[0].TaskRef, provider.TaskToken(token, res.Tasks[0].TaskRef)
	answer, err := w.store.ReportTasks(w.t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{report}})
	if err != nil || answer.Items[0].Err != nil {
		w.t.Fatal(answer, err)
	}
}

func TestDescribeEnded(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	w.Complete(h.Key(), `{"Number":7}`)
	failed := w.Start(client.WithID("b"))
	w.End(failed.Key(), provider.StatusFailed, history.Outcome{Failure: &history.Failure{
		Type: "declined", Message: "card declined", Details: []byte(`{"code":5}`), NonRetryable: true,
	}})
	d, err := w.Describe(t.Context(), "a")
	if err != nil || d.Status != client.StatusCompleted || string(d.Result) != `{"Number":7}` || d.Failure != nil || d.EndedAt.IsZero() {
		t.Errorf("described as %+v, %v", d, err)
	}
	text, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(text), `"status":"Completed"`) || !strings.Contains(string(text), `"result":{"Number":7}`) ||
		strings.Contains(string(text), "readyAt") || strings.Contains(string(text), "parent") {
		t.Errorf("as JSON %s, %v", text, err)
	}
	d, err = w.Describe(t.Context(), "b")
	if err != nil || d.Failure.Type != "declined" || d.Failure.Message != "card declined" || !d.Failure.NonRetryable || d.Result != nil {
		t.Errorf("described as %+v, %v", d, err)
	}
	if !d.Status.Ended() || client.StatusRunning.Ended() || client.StatusSuspended.Ended() || client.Status("?").Ended() {
		t.Error("Ended is wrong")
	}
}

func TestDescribeBlocked(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	_, token, _ := w.Lease(h.Key())
	_, err := w.store.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Key: h.Key(), Token: token, Delay: time.Hour, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "panic", Message: "boom"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Describe(t.Context(), "a")
	if err != nil || d.Blocked == nil {
		t.Fatalf("described as %+v, %v", d, err)
	}
	if b := d.Blocked; b.Reason != "panic" || b.Message != "boom" || b.Count != 1 || b.RetryAt.Sub(b.Since) < 59*time.Minute {
		t.Errorf("blocked is %+v", b)
	}
	_, err = h.Wait(t.Context(), client.OrBlocked())
	if err == nil || !strings.Contains(err.Error(), "tried again at 20") {
		t.Errorf("got %v", err)
	}
}
