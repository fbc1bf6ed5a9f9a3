package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// changing are the calls that change a store, by the names of their functions, each on the instance "x".
func changing(key provider.UUID, file []byte) map[string]func(context.Context, *client.Client) error {
	token := tasktoken.Encode(tasktoken.Token{
		Task: provider.TaskRef{Key: key, Execution: 1, EventID: 2}, Attempt: 1, Holder: provider.UUID{2}, Lease: time.Minute,
	})
	handle := func(c *client.Client) client.Handle[receipt] { return client.HandleOf[receipt](c, "x", key) }
	activity := func(c *client.Client) client.PendingActivity {
		return handle(c).Activity(client.ActivityRef{Execution: 1, EventID: 2, Attempt: 1})
	}
	job := func(ctx context.Context, c *client.Client) (operate.Bulk, error) {
		return operate.New(c).Bulk(ctx, "job")
	}
	second := func(_ any, err error) error { return err }
	spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}
	return map[string]func(context.Context, *client.Client) error{
		"Start": func(ctx context.Context, c *client.Client) error {
			return second(client.Start(ctx, c, Checkout, order{}))
		},
		"StartNamed": func(ctx context.Context, c *client.Client) error {
			return second(client.StartNamed[any](ctx, c, "Checkout", 1))
		},
		"StartMany": func(ctx context.Context, c *client.Client) error {
			return startedOne(client.StartMany(ctx, c, Checkout, make([]client.ManyStart[order], 1)))
		},
		"StartManyNamed": func(ctx context.Context, c *client.Client) error {
			return startedOne(client.StartManyNamed[any](ctx, c, "Checkout", make([]client.ManyStart[any], 1)))
		},
		"StartAndUpdate": func(ctx context.Context, c *client.Client) error {
			_, _, err := client.StartAndUpdate[any](ctx, c, Checkout, order{}, "u", 1)
			return err
		},
		"Client.Raise": func(ctx context.Context, c *client.Client) error { return c.Raise(ctx, "x", "e", 1) },
		"Handle.Raise": func(ctx context.Context, c *client.Client) error { return handle(c).Raise(ctx, "e", 1) },
		"Update": func(ctx context.Context, c *client.Client) error {
			return second(client.Update[any](ctx, handle(c), "u", 1))
		},
		"SendUpdate": func(ctx context.Context, c *client.Client) error {
			return second(client.SendUpdate[any](ctx, handle(c), "u", 1))
		},
		"Client.Cancel":      func(ctx context.Context, c *client.Client) error { return c.Cancel(ctx, "x", "") },
		"Handle.Cancel":      func(ctx context.Context, c *client.Client) error { return handle(c).Cancel(ctx, "") },
		"Client.Terminate":   func(ctx context.Context, c *client.Client) error { return c.Terminate(ctx, "x", "") },
		"Handle.Terminate":   func(ctx context.Context, c *client.Client) error { return handle(c).Terminate(ctx, "") },
		"Client.Suspend":     func(ctx context.Context, c *client.Client) error { return c.Suspend(ctx, "x", "") },
		"Handle.Suspend":     func(ctx context.Context, c *client.Client) error { return handle(c).Suspend(ctx, "") },
		"Client.Resume":      func(ctx context.Context, c *client.Client) error { return c.Resume(ctx, "x", "") },
		"Handle.Resume":      func(ctx context.Context, c *client.Client) error { return handle(c).Resume(ctx, "") },
		"Client.Unblock":     func(ctx context.Context, c *client.Client) error { return c.Unblock(ctx, "x") },
		"Handle.Unblock":     func(ctx context.Context, c *client.Client) error { return handle(c).Unblock(ctx) },
		"Client.DropMessage": func(ctx context.Context, c *client.Client) error { return c.DropMessage(ctx, "x", 9, "") },
		"Handle.DropMessage": func(ctx context.Context, c *client.Client) error { return handle(c).DropMessage(ctx, 9, "") },
		"Client.Restart":     func(ctx context.Context, c *client.Client) error { return second(c.Restart(ctx, "x", "")) },
		"Handle.Restart":     func(ctx context.Context, c *client.Client) error { return second(handle(c).Restart(ctx, "")) },
		"Reset":              func(ctx context.Context, c *client.Client) error { return second(client.Reset(ctx, handle(c), 1)) },
		"Fork":               func(ctx context.Context, c *client.Client) error { return second(client.Fork(ctx, handle(c), 1, "y")) },
		"Client.Move":        func(ctx context.Context, c *client.Client) error { return c.Move(ctx, "x", "2") },
		"Handle.Move":        func(ctx context.Context, c *client.Client) error { return handle(c).Move(ctx, "2") },
		"Client.Delete":      func(ctx context.Context, c *client.Client) error { return second(c.Delete(ctx, "x", client.Force())) },
		"Handle.Delete": func(ctx context.Context, c *client.Client) error {
			return second(handle(c).Delete(ctx, client.Force()))
		},
		"CompleteActivity":           func(ctx context.Context, c *client.Client) error { return client.CompleteActivity(ctx, c, token, 1) },
		"FailActivity":               func(ctx context.Context, c *client.Client) error { return client.FailActivity(ctx, c, token, io.EOF) },
		"ReportCancelled":            func(ctx context.Context, c *client.Client) error { return client.ReportCancelled(ctx, c, token) },
		"HeartbeatActivity":          func(ctx context.Context, c *client.Client) error { return client.HeartbeatActivity(ctx, c, token, 1) },
		"PendingActivity.Retry":      func(ctx context.Context, c *client.Client) error { return activity(c).Retry(ctx, "") },
		"PendingActivity.Pause":      func(ctx context.Context, c *client.Client) error { return activity(c).Pause(ctx, "") },
		"PendingActivity.Resume":     func(ctx context.Context, c *client.Client) error { return activity(c).Resume(ctx, "") },
		"PendingActivity.Complete":   func(ctx context.Context, c *client.Client) error { return activity(c).Complete(ctx, 1, "") },
		"PendingActivity.Fail":       func(ctx context.Context, c *client.Client) error { return activity(c).Fail(ctx, io.EOF, "") },
		"Operator.RedriveDeadLetter": func(ctx context.Context, c *client.Client) error { return operate.New(c).RedriveDeadLetter(ctx, 1) },
		"Operator.DropDeadLetter":    func(ctx context.Context, c *client.Client) error { return operate.New(c).DropDeadLetter(ctx, 1) },
		"Operator.PauseQueue": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).PauseQueue(ctx, "q", ""))
		},
		"Operator.ResumeQueue": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).ResumeQueue(ctx, "q", ""))
		},
		"Operator.DrainNode": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).DrainNode(ctx, "n", ""))
		},
		"Operator.UndrainNode": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).UndrainNode(ctx, "n", ""))
		},
		"CreateSchedule": func(ctx context.Context, c *client.Client) error {
			return second(client.CreateSchedule(ctx, c, "new", spec, Checkout, order{}))
		},
		"CreateScheduleNamed": func(ctx context.Context, c *client.Client) error {
			return second(client.CreateScheduleNamed(ctx, c, "new", spec, "Checkout", 1))
		},
		"EnsureSchedule": func(ctx context.Context, c *client.Client) error {
			return second(client.EnsureSchedule(ctx, c, "s", spec, Checkout, order{Item: "changed"}))
		},
		"Schedule.Update": func(ctx context.Context, c *client.Client) error {
			return c.Schedule("s").Update(ctx, func(s *client.ScheduleSpec) error { s.Jitter++; return nil })
		},
		"Schedule.Pause":   func(ctx context.Context, c *client.Client) error { return c.Schedule("s").Pause(ctx, "") },
		"Schedule.Resume":  func(ctx context.Context, c *client.Client) error { return c.Schedule("s").Resume(ctx, "") },
		"Schedule.Trigger": func(ctx context.Context, c *client.Client) error { return second(c.Schedule("s").Trigger(ctx)) },
		"Schedule.Backfill": func(ctx context.Context, c *client.Client) error {
			return second(c.Schedule("s").Backfill(ctx, time.Now().Add(-time.Hour), time.Now()))
		},
		"Schedule.Delete": func(ctx context.Context, c *client.Client) error { return c.Schedule("s").Delete(ctx) },
		"Operator.StartBulk": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).StartBulk(ctx, operate.BulkJob{Act: client.ActSuspend, Max: 1}))
		},
		"Bulk.Stop": func(ctx context.Context, c *client.Client) error {
			b, err := job(ctx, c)
			return errors.Join(err, b.Stop(ctx))
		},
		"Bulk.Resume": func(ctx context.Context, c *client.Client) error {
			b, err := job(ctx, c)
			return errors.Join(err, b.Resume(ctx))
		},
		"Operator.SetRetention": func(ctx context.Context, c *client.Client) error {
			return operate.New(c).SetRetention(ctx, operate.Retention{})
		},
		"Operator.RunRetention": func(ctx context.Context, c *client.Client) error { return operate.New(c).RunRetention(ctx) },
		"Operator.Prune": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).Prune(ctx, operate.Pruning{Age: 48 * time.Hour}))
		},
		"Operator.Trim": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).Trim(ctx, operate.Trimming{Age: 48 * time.Hour}))
		},
		"Operator.Compact": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).Compact(ctx, operate.Compaction{}))
		},
		"Operator.Export": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).Export(ctx, io.Discard, operate.ExportOptions{}))
		},
		"Operator.Import": func(ctx context.Context, c *client.Client) error {
			return second(operate.New(c).Import(ctx, bytes.NewReader(file), operate.ImportOptions{}))
		},
		"Operator.Unseal": func(ctx context.Context, c *client.Client) error { return second(operate.New(c).Unseal(ctx)) },
		"Operator.Backup": func(ctx context.Context, c *client.Client) error { return operate.New(c).Backup(ctx, "never.db") },
	}
}

// stolen is the request of a step that deletes whatever runs.
const stolen = `{"job":{"id":"x","act":"delete","max":10,"args":{"force":true}},"max":10}`

func startedOne[Out any](all []client.ManyStarted[Out], err error) error {
	if err == nil {
		err = all[0].Err
	}
	return err
}

// reading are the exported functions that only read.
func reading() []string {
	return []string{
		"Bulk.Describe", "Bulk.Failures", "BulkPreview.Only", "Client.All", "Client.Activities", "Client.FailureGroups", "Client.Figures",
		"Operator.Audit", "Operator.Bulk", "Operator.Bulks", "Operator.CheckBulk", "Operator.Incident", "Client.Count", "Client.CountUpTo",
		"Client.CountSearchUpTo", "Client.ListSearch", "Client.SearchTime",
		"Operator.DeadLetterPage", "Operator.DeadLetters", "Client.Describe", "Client.ExportHistory", "Client.Follow", "Client.FollowHistory",
		"Client.History", "Client.HistoryPage", "Client.List", "Operator.Nodes", "Client.Now", "Operator.Patches", "Operator.PreviewBulk", "Operator.PreviewBulkTo", "Operator.PreviewPrune", "Operator.PreviewRetention", "Operator.PreviewTrim",
		"Operator.Queues",
		"Client.Result", "Operator.Retention", "Client.Schedules", "Operator.Sealed", "Operator.StoreFigures", "Client.Tree", "Operator.Versions",
		"Handle.Describe", "Handle.ExportHistory", "Handle.FindPoint", "PointKind.In", "PointKind.MarshalText", "PointKind.String", "Handle.Follow", "Handle.FollowHistory", "Handle.History",
		"Handle.HistoryPage", "Handle.Result", "Handle.Steps", "Handle.Tree", "Handle.Wait", "Handle.Waits", "Handle.Watch", "Lookup", "LookupKey", "Query",
		"Schedule.Describe", "StatusOf", "UpdateHandle.Wait", "Value", "HistoryFile.Decrypt",
		"InterceptorBase.Act", // only calls the act that it is around, which is a door of its own
	}
}

// A viewer changes nothing, by whatever function. A new one has to take its place in one of the two lists.
func TestHazard67_NoDoorPassesTheRights(t *testing.T) {
	w := newWorld(t, client.Options{})
	if _, _, err := upgrade.Finish(t.Context(), provider.FullOf(w.store), replay.EngineLevel, true); err != nil {
		t.Fatal(err)
	}
	h := w.Start(client.WithID("x"))
	spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}
	if _, err := client.CreateSchedule(t.Context(), w.Client, "s", spec, Checkout, order{}); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.New(w.Client).StartBulk(t.Context(), operate.BulkJob{ID: "job", Act: client.ActSuspend, Max: 1}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := operate.New(w.Client).Export(t.Context(), &file, operate.ExportOptions{IDs: []string{}, Filter: &client.Filter{IDPrefix: "none"}}); err != nil {
		t.Fatal(err)
	}
	doors := changing(h.Key(), file.Bytes())
	viewer := w.AsRole(client.RoleViewer)
	before := w.Get(h.Key())
	for name, call := range doors {
		err := call(t.Context(), viewer)
		if !errors.Is(err, client.ErrForbidden) && !errors.Is(err, errors.ErrUnsupported) { // the store lacks what a few need
			t.Errorf("%s by a viewer: %v, want ErrForbidden", name, err)
		}
	}
	if after := w.Get(h.Key()); after.Version != before.Version || after.InboxMessages != before.InboxMessages {
		t.Errorf("a viewer has changed the instance: %+v", after)
	}
	for _, name := range exported(t) {
		if _, acts := doors[name]; acts == slices.Contains(reading(), name) {
			t.Errorf("%s is in both lists of this test, or in none", name)
		}
	}
}

// exported returns the exported functions of packages client and operate that take a context, methods behind their type.
func exported(t *testing.T) (names []string) {
	t.Helper()
	var files []string
	for _, folder := range []string{".", "../operate"} {
		found, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && takesContext(fn) {
				if name := receiver(fn) + fn.Name.Name; ast.IsExported(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func takesContext(fn *ast.FuncDecl) bool {
	params := fn.Type.Params.List
	if len(params) == 0 {
		return false
	}
	of, ok := params[0].Type.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Context"
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if index, ok := of.(*ast.IndexExpr); ok {
		of = index.X
	}
	return fmt.Sprint(of) + "."
}

// A client of a principal stays that of its principal.
func TestHazard67_NobodyActsForAnother(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("victim"))
	for _, role := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
		_, err := w.AsRole(role).As(client.Principal{Name: "mallory", Role: client.RoleAdmin})
		want(t, err, `making the client of a principal: not allowed: the client acts for "ann" already: use the client that client.New has made`, client.ErrForbidden)
		_, err = access.OwnStepsOf(operate.New(w.AsRole(role))).Bulk(t.Context(), []byte(stolen), nil, func([]byte, bool) error { return nil })
		want(t, err, `making a step of a bulk job: not allowed: the client acts for "ann" already: use the client that client.New has made`, client.ErrForbidden)
		_, err = access.OwnStepsOf(operate.New(w.AsRole(role))).Retention(t.Context(), []byte("{}"), nil, func([]byte, bool) error { return nil })
		want(t, err, `making a step of retention: not allowed: the client acts for "ann" already: use the client that client.New has made`, client.ErrForbidden)
	}
	if i := w.Get(h.Key()); i.Status != provider.StatusRunning || i.Deleting {
		t.Errorf("the instance is %v", i.Status)
	}
}

// Who resumes a job needs the rights that its act needs. Everybody who may steer jobs may stop it.
func TestHazard67_ResumeNeedsTheRightOfTheAct(t *testing.T) {
	w := newWorld(t, client.Options{})
	admin, operator := operate.New(w.AsRole(client.RoleAdmin)), operate.New(w.AsRole(client.RoleOperator))
	for act, wanted := range map[client.Act]error{client.ActDelete: client.ErrForbidden, client.ActSuspend: nil} {
		job, err := admin.StartBulk(t.Context(), operate.BulkJob{ID: string(act), Act: act, Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		mine, err := operator.Bulk(t.Context(), job.ID())
		if err != nil {
			t.Fatal(err)
		}
		if err := mine.Stop(t.Context()); err != nil {
			t.Errorf("an operator stops a job that does %s: %v", act, err)
		}
		if err := mine.Resume(t.Context()); !errors.Is(err, wanted) {
			t.Errorf("an operator resumes a job that does %s: %v, want %v", act, err, wanted)
		}
		if err := job.Resume(t.Context()); err != nil {
			t.Errorf("an admin resumes a job that does %s: %v", act, err)
		}
	}
}

// No fork takes an ID of perdure itself, and no request ID by which perdure knows the runs of schedules.
func TestHazard67_ForksStayOutOfTheSystem(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("dure/x"))
	_, err := client.Fork(t.Context(), h, 1, "perdure/retention")
	want(t, err, `forking instance "dure/x" at event 1 into "perdure/retention": invalid request: IDs that begin with perdure/ belong to perdure itself: choose another one`, client.ErrInvalid)
	_, err = client.Fork(t.Context(), h, 1, "y", client.Repeatable("perdure/schedule/x"))
	want(t, err, `forking instance "dure/x" at event 1 into "y": invalid request: request IDs that begin with perdure/ belong to perdure itself: choose another one`, client.ErrInvalid)
	// The prefix of a job makes a reserved ID together with the ID of the origin.
	request := `{"job":{"id":"j","act":"fork","max":1,"args":{"point":1,"prefix":"per"}},"max":1}`
	done, err := access.OwnStepsOf(operate.New(w.Client)).Bulk(t.Context(), []byte(request), nil, func([]byte, bool) error { return nil })
	if err != nil || !bytes.Contains(done, []byte("belong to perdure itself")) {
		t.Errorf("a job forks into a reserved ID: %s, %v", done, err)
	}
	_, err = client.CreateScheduleNamed(t.Context(), w.Client, "perdure", client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}, "Checkout", 1)
	want(t, err, `creating schedule "perdure": invalid request: the IDs of its runs would begin with perdure/, and those belong to perdure itself: choose another one`, client.ErrInvalid)
	if err := w.Schedule("perdure").Delete(t.Context()); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a schedule of that ID, which releases before made, cannot be reached: %v", err)
	}
}

// stranger makes an instance of the user with an ID of perdure itself, as forks of releases before could.
func (w *world) stranger(id string) provider.UUID {
	w.t.Helper()
	req := clienttest.SystemInstance()
	req.ID, req.Key, req.Name = id, provider.NewKey(id), "Checkout"
	res, err := w.store.Create(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Instance.Key
}

// An instance of the user that has an ID of perdure itself is told of, and can be removed. Then perdure has the ID.
func TestHazard67_StrangersInTheCornerCanBeRemoved(t *testing.T) {
	w := newWorld(t, client.Options{})
	key := w.stranger("perdure/retention")
	admin := w.AsRole(client.RoleAdmin)
	rules := operate.Retention{Rules: []operate.RetentionRule{{Age: 48 * time.Hour}}}
	err := operate.New(admin).SetRetention(t.Context(), rules)
	if !errors.Is(err, client.ErrExists) || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("rules beside a stranger: %v", err)
	}
	if err := admin.Terminate(t.Context(), "perdure/retention", ""); err != nil {
		t.Error(err)
	}
	if n, err := admin.Delete(t.Context(), "perdure/retention"); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if _, err := w.store.Get(t.Context(), provider.GetRequest{Key: key}); !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("the stranger is still there: %v", err)
	}
	if err := operate.New(admin).SetRetention(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	res, err := w.store.Get(t.Context(), provider.GetRequest{ID: "perdure/retention"})
	if err != nil || res.Instance.Name != reserved.Retention {
		t.Errorf("%q, %v", res.Instance.Name, err)
	}
	if err := admin.Terminate(t.Context(), "perdure/retention", ""); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an admin terminates the retention: %v", err)
	}
}

// An import brings no instance of the user into the corner of perdure itself.
func TestHazard67_ImportsStayOutOfTheSystem(t *testing.T) {
	w := newWorld(t, client.Options{})
	w.stranger("perdure/x")
	if err := w.Terminate(t.Context(), "perdure/x", ""); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := operate.New(w.Client).Export(t.Context(), &file, operate.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	_, err := operate.New(clienttest.New(t, store, client.Options{})).Import(t.Context(), &file, operate.ImportOptions{})
	want(t, err, `importing instances: instance "perdure/x": invalid request: it runs "Checkout", but IDs that begin with perdure/ and orchestrations that begin with perdure. belong to perdure itself: export without it`, client.ErrInvalid)
	if _, err := store.Get(t.Context(), provider.GetRequest{ID: "perdure/x"}); !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("it was imported: %v", err)
	}
}
