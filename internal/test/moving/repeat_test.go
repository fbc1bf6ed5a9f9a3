package moving

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// errKilled ends a call as the end of its process would.
var errKilled = errors.New("killed")

// lethal is a client whose nth call of some methods does not return: the call has its effect, or has none.
func lethal(p *place, nth int, kind faulty.Kind, ops ...faulty.Op) *client.Client {
	p.T.Helper()
	plan := faulty.NewPlan(1)
	plan.Add(faulty.Rule{Ops: ops, Match: func() func(any) bool {
		calls := 0
		return func(any) bool { calls++; return calls >= nth }
	}(), Kind: kind, Err: &provider.Error{Op: "test", Outcome: provider.OutcomeUnknown, Err: errKilled}})
	c, err := client.New(faulty.Wrap(p.Store, plan), client.Options{})
	p.do("client", err)
	return c
}

// cut cuts a file off.
func cut(file []byte, at int) io.Reader { return bytes.NewReader(file[:at]) }

// small starts a few orders that wait.
func small(p *place) {
	ctx := p.T.Context()
	p.Start(p.registry())
	for _, id := range []string{"a", "b", "c"} {
		p.start("receive", id, 1)
		p.do("raise", p.client.Raise(ctx, id, "go", 1))
	}
	p.start("parent", "family", 1)
	p.waits("family", "waits", func(d client.Description) bool { return d.HistoryLength > 1 })
}

// ends brings the orders of small to their ends.
func ends(p *place) {
	ctx := p.T.Context()
	for _, id := range []string{"a", "b", "c"} {
		p.do("raise", p.client.Raise(ctx, id, "go", 1))
	}
	children, err := p.Store.List(ctx, provider.ListRequest{Filter: provider.Filter{ParentKey: p.describe("family").Key}})
	p.do("list", err)
	for range 2 {
		p.do("raise", p.client.Raise(ctx, children.Instances[0].ID, "go", 1))
	}
	p.outputs(map[string]int{"a": 3, "b": 3, "c": 3, "family": 3})
}

// An export and an import that end in the middle, after any of their calls, are repeated, and each order runs once in one place.
func TestHazard69_KilledMovesAreRepeated(t *testing.T) {
	t.Parallel()
	for _, kind := range []faulty.Kind{faulty.Before, faulty.After} {
		for nth := 1; nth <= 9; nth += 2 {
			ctx := t.Context()
			source, target := newPlace(t, "memory", false), newPlace(t, "memory", true)
			small(source)
			_, err := operate.New(lethal(source, nth, kind, faulty.Seal, faulty.Export)).Export(ctx, io.Discard, operate.ExportOptions{Seal: true})
			if !errors.Is(err, errKilled) {
				t.Fatalf("export, call %d, %v: got %v, want the end of the process", nth, kind, err)
			}
			var file bytes.Buffer
			_, err = operate.New(source.client).Export(ctx, &file, operate.ExportOptions{Seal: true, Again: true})
			source.do("export again", err)
			target.Start(target.registry())
			_, err = operate.New(lethal(target, nth, kind, faulty.Seal, faulty.Import)).Import(ctx, bytes.NewReader(file.Bytes()), operate.ImportOptions{})
			if !errors.Is(err, errKilled) {
				t.Fatalf("import, call %d, %v: got %v, want the end of the process", nth, kind, err)
			}
			_, err = operate.New(target.client).Import(ctx, bytes.NewReader(file.Bytes()), operate.ImportOptions{})
			target.do("import again", err)
			ends(target)
		}
	}
}

// A file that is cut off or changed brings nothing to run.
func TestHazard69_DamagedFileRunsNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	source, target := newPlace(t, "memory", false), newPlace(t, "memory", true)
	small(source)
	var file bytes.Buffer
	_, err := operate.New(source.client).Export(ctx, &file, operate.ExportOptions{Seal: true})
	source.do("export", err)
	target.Start(target.registry())
	whole := file.Bytes()
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	changed := bytes.Replace(whole, []byte(`"id":"b"`), []byte(`"id":"B"`), 1)
	for name, damaged := range map[string]io.Reader{
		"empty": cut(whole, 0), "half": cut(whole, len(whole)/2), "without its end": cut(whole, last), "without the last byte": cut(whole, len(whole)-1),
		"changed": bytes.NewReader(changed), "too long": io.MultiReader(bytes.NewReader(whole), bytes.NewReader([]byte("\n"))),
	} {
		if _, err := operate.New(target.client).Import(ctx, damaged, operate.ImportOptions{}); !errors.Is(err, operate.ErrDamagedFile) {
			t.Errorf("importing a file that is %s returned %v, want ErrDamagedFile", name, err)
		}
		res, err := target.Store.List(ctx, provider.ListRequest{})
		target.do("list", err)
		for _, i := range res.Instances {
			if i.Status != provider.StatusSuspended || !i.Deleting {
				t.Errorf("%s: %s is %v, want it closed", name, i.ID, i.Status)
			}
		}
	}
	_, err = operate.New(target.client).Import(ctx, bytes.NewReader(whole), operate.ImportOptions{})
	target.do("import", err)
	ends(target)
}

// Instances come back, unchanged or with what they did elsewhere, and an export can be given up.
func TestHazard69_InstancesComeBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	export := func(p *place) []byte {
		var file bytes.Buffer
		_, err := operate.New(p.client).Export(ctx, &file, operate.ExportOptions{Seal: true})
		p.do("export", err)
		return file.Bytes()
	}
	imports := func(p *place, file []byte, back bool) error {
		_, err := operate.New(p.client).Import(ctx, bytes.NewReader(file), operate.ImportOptions{Back: back})
		return err
	}
	home, away := newPlace(t, "memory", true), newPlace(t, "memory", true)
	small(home)
	file := export(home)
	if err := imports(home, file, false); !errors.Is(err, client.ErrExists) {
		t.Errorf("an import at the source without Back returned %v, want ErrExists", err)
	}
	home.do("import back", imports(home, file, true))
	export(home)
	if _, err := operate.New(home.client).Export(context.WithoutCancel(ctx), io.Discard, operate.ExportOptions{Seal: true}); !errors.Is(err, client.ErrMoved) {
		t.Errorf("a second export returned %v, want ErrMoved", err)
	}
	freed, err := operate.New(home.client).Unseal(ctx)
	home.do("unseal", err)
	if freed != 5 {
		t.Errorf("Unseal freed %d instances, want 5", freed)
	}
	away.Start(away.registry())
	away.do("import", imports(away, export(home), false))
	away.do("raise", away.client.Raise(ctx, "a", "go", 1))
	away.waits("a", "has ended", func(d client.Description) bool { return d.Status.Ended() })
	home.do("import back", imports(home, export(away), true))
	home.outputs(map[string]int{"a": 3})
	for _, id := range []string{"b", "c"} {
		home.do("raise", home.client.Raise(ctx, id, "go", 1))
	}
	home.outputs(map[string]int{"b": 3, "c": 3})
	away.Unchecked("everything has left it")
}

// Without Seal, only what has ended is copied.
func TestExportCopiesWhatHasEnded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	source, target := newPlace(t, "memory", false), newPlace(t, "memory", true)
	small(source)
	if _, err := operate.New(source.client).Export(ctx, io.Discard, operate.ExportOptions{}); !errors.Is(err, client.ErrRunning) {
		t.Errorf("an export of running instances returned %v, want ErrRunning", err)
	}
	source.do("raise", source.client.Raise(ctx, "a", "go", 1))
	source.outputs(map[string]int{"a": 3})
	var file bytes.Buffer
	res, err := operate.New(source.client).Export(ctx, &file, operate.ExportOptions{IDs: []string{"a"}})
	source.do("export", err)
	if res.Copied != 1 || res.Moved != 0 {
		t.Errorf("the export says %+v, want one copy", res)
	}
	_, err = operate.New(target.client).Import(ctx, &file, operate.ImportOptions{})
	target.do("import", err)
	target.outputs(map[string]int{"a": 3})
	source.do("raise", source.client.Raise(ctx, "b", "go", 1))
	source.outputs(map[string]int{"b": 3})
}
