package moving

import (
	"bytes"
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// busy starts orders of all kinds at the source and waits until each of them waits.
func busy(p *place) {
	ctx := p.T.Context()
	rt := p.Start(p.registry())
	_ = rt
	p.start("call-long", "long", 1)
	p.start("call-flaky", "flaky", 2)
	p.start("call-parked", "parked", 3)
	p.start("call-elsewhere", "elsewhere", 4)
	p.start("sleep", "sleeps", 5)
	p.start("receive", "mailbox", 6)
	p.start("parent", "family", 7)
	p.start("rounds", "rounds", 1)
	p.start("blocks", "blocked", 8)
	p.start("updated", "updated", 1)
	p.start("receive", "suspended", 9)
	p.start("receive", "ended", 10)
	p.do("raise", p.client.Raise(ctx, "ended", "go", 1))
	p.do("raise", p.client.Raise(ctx, "ended", "go", 1))
	p.do("raise", p.client.Raise(ctx, "mailbox", "go", 100))
	p.do("raise", p.client.Raise(ctx, "rounds", "go", 1))
	_, err := client.Update[int](ctx, p.handle("updated"), "add", 4, client.WithUpdateID("first"))
	p.do("update", err)
	pending := func(state client.ActivityState) func(client.Description) bool {
		return func(d client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].State == state }
	}
	p.waits("long", "runs", pending(client.ActivityRunning))
	p.waits("flaky", "is retried", func(d client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].Attempt > 1 })
	p.waits("parked", "is parked", pending(client.ActivityParked))
	p.waits("elsewhere", "is queued", func(d client.Description) bool { return len(d.Activities) == 1 })
	p.waits("blocked", "is blocked", func(d client.Description) bool { return d.Blocked != nil })
	p.waits("rounds", "is in its second execution", func(d client.Description) bool { return d.Execution == 2 })
	p.waits("family", "has its child", func(d client.Description) bool { return d.HistoryLength > 1 })
	p.waits("ended", "has ended", func(d client.Description) bool { return d.Status.Ended() })
	p.do("suspend", p.client.Suspend(ctx, "suspended", "test"))
	p.do("raise", p.client.Raise(ctx, "suspended", "go", 1))
}

// still checks that nothing runs at the source, and that nothing makes it run.
func still(p *place, runs int64) {
	ctx := p.T.Context()
	refused := func(what string, err error) {
		p.T.Helper()
		if !errors.Is(err, client.ErrMoved) {
			p.T.Errorf("%s at the source returned %v, want ErrMoved", what, err)
		}
	}
	refused("Raise", p.client.Raise(ctx, "mailbox", "go", 1))
	refused("Resume", p.client.Resume(ctx, "suspended", "test"))
	refused("Terminate", p.client.Terminate(ctx, "family", "test"))
	refused("Unblock", p.client.Unblock(ctx, "blocked"))
	refused("CompleteActivity", client.CompleteActivity(ctx, p.client, <-p.tokens, 3))
	if n := p.runs.Load(); n != runs {
		p.T.Errorf("%d attempts at the source, and %d before the move", n, runs)
	}
	res, err := p.Store.List(ctx, provider.ListRequest{})
	p.do("list", err)
	for _, i := range res.Instances {
		if !i.Status.Ended() && (i.Status != provider.StatusSuspended || !i.Deleting) {
			p.T.Errorf("%s is %v at the source, want it sealed", i.ID, i.Status)
		}
	}
	list, err := p.client.List(ctx, client.Filter{}, client.Page{Size: 1000})
	p.do("list", err)
	tree, err := p.client.Tree(ctx, "family", client.TreeLimits{})
	p.do("tree", err)
	for _, d := range append(list.Items, p.describe("suspended"), tree.Description, tree.Children[0].Description) {
		if !d.Status.Ended() && (d.Sealed == nil || d.Sealed.State != "closed" || d.Sealed.Arrived || d.Deleting) {
			p.T.Errorf("%s is shown as %+v at the source, want it sealed", d.ID, d)
		}
	}
}

// A store with running orders of all kinds moves to another one by two calls. Each order ends there as its code says, once, and nothing runs
// on at the source.
func TestHazard69_RunningStoreMoves(t *testing.T) {
	t.Parallel()
	moves := map[string][2]string{"sqlite to postgres": {"sqlite", "postgres"}, "memory to sqlite": {"memory", "sqlite"}}
	if !racedetector.On {
		moves["postgres to memory"] = [2]string{"postgres", "memory"}
	}
	for name, kinds := range moves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			source, target := newPlace(t, kinds[0], false), newPlace(t, kinds[1], true)
			busy(source)
			var file bytes.Buffer
			exported, err := operate.New(source.client).Export(ctx, &file, operate.ExportOptions{Seal: true})
			source.do("export", err)
			if exported.Copied < 1 || exported.Moved < 9 || exported.Moved+exported.Copied < 13 { // on a busy machine some end before it
				t.Errorf("the export has moved %d and copied %d instances, want most of 13 moved and one that has ended", exported.Moved, exported.Copied)
			}
			runs := source.runs.Load()
			token := <-source.tokens
			source.tokens <- token
			target.Start(target.registry())
			imported, err := operate.New(target.client).Import(ctx, bytes.NewReader(file.Bytes()), operate.ImportOptions{})
			target.do("import", err)
			if imported.Freed != imported.Instances || imported.Instances != exported.Moved+exported.Copied {
				t.Errorf("the import says %+v after an export of %+v", imported, exported)
			}
			again, err := operate.New(target.client).Import(ctx, bytes.NewReader(file.Bytes()), operate.ImportOptions{})
			target.do("import again", err)
			if again.Kept != imported.Instances {
				t.Errorf("a second import kept %d instances, want all %d", again.Kept, imported.Instances)
			}
			finish(target, token)
			still(source, runs)
		})
	}
}

// finish brings all orders to their ends at the target.
func finish(p *place, token string) {
	ctx := p.T.Context()
	p.do("complete", client.CompleteActivity(ctx, p.client, token, 3))
	p.do("raise", p.client.Raise(ctx, "mailbox", "go", 1))
	p.do("raise", p.client.Raise(ctx, "rounds", "go", 1))
	p.do("raise", p.client.Raise(ctx, "rounds", "go", 1))
	if d := p.describe("suspended"); d.Status != client.StatusSuspended || d.Sealed != nil {
		p.T.Errorf("the suspended order is %s", d.Status)
	}
	p.do("resume", p.client.Resume(ctx, "suspended", "test"))
	p.do("raise", p.client.Raise(ctx, "suspended", "go", 1))
	p.do("unblock", notEnded(p.client.Unblock(ctx, "blocked")))
	first, err := client.Update[int](ctx, p.handle("updated"), "add", 4, client.WithUpdateID("first"))
	if err != nil || first != 5 {
		p.T.Errorf("the update that was answered before returned %d and error %v, want 5", first, err)
	}
	_, err = client.Update[int](ctx, p.handle("updated"), "add", 5)
	p.do("update", err)
	p.do("raise", p.client.Raise(ctx, "updated", "go", 1))
	children, err := p.Store.List(ctx, provider.ListRequest{Filter: provider.Filter{ParentKey: p.describe("family").Key}})
	if err != nil || len(children.Instances) != 1 {
		p.T.Fatalf("the family has %d children and error %v, want 1", len(children.Instances), err)
	}
	for range 2 {
		p.do("raise", p.client.Raise(ctx, children.Instances[0].ID, "go", 1))
	}
	p.outputs(map[string]int{
		"long": 1, "flaky": 2, "parked": 3, "elsewhere": 4, "sleeps": 5, "mailbox": 107, "family": 9, "rounds": 3, "blocked": 8, "updated": 10,
		"suspended": 11, "ended": 12,
	})
}

// notEnded forgives that an order was quicker.
func notEnded(err error) error {
	if errors.Is(err, client.ErrEnded) {
		return nil
	}
	return err
}
