package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Fails fails with a text.
func Fails(_ *orchestration.Context, text string) (int, error) { return 0, errors.New(text) }

// grouping is a store in which all failures are one group, with the text that Fails was given.
type grouping struct {
	*memory.Provider

	texts map[provider.UUID]string
}

func (g *grouping) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if text, ok := g.texts[req.Key]; ok && req.Status == provider.StatusFailed {
		req.FailureGroup = "1:all"
		req.Excerpt, _ = json.Marshal(map[string]any{"v": 1, "text": text})
	}
	return g.Provider.CommitTurn(ctx, req)
}

// A group may have different errors: its job takes one text, or says that it takes all. The preview shows the texts and counts all instances.
func TestHazard160_ActsTakeOneTextOrAll(t *testing.T) {
	store := &grouping{memory.New(memory.Options{}), map[provider.UUID]string{}}
	e := enginetest.On(t, store, runtime.Options{})
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	var keys []provider.UUID
	for n := range 15 {
		text := "status 404"
		if n%3 == 0 {
			text = "status 503"
		}
		h, err := client.Start(t.Context(), w.Client, Fails, text, client.WithID(fmt.Sprint("c-", n)))
		if err != nil {
			t.Fatal(err)
		}
		store.texts[h.Key()], keys = text, append(keys, h.Key())
	}
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Fails); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	for _, key := range keys {
		w.WaitEnded(key)
	}
	o, group := operate.New(w.Client), client.Filter{IDPrefix: "c-", FailureGroup: "1:all"}
	p, err := o.PreviewBulk(t.Context(), group)
	if err != nil || p.Count != 15 || !p.Exact || p.OtherTexts || len(p.Texts) != 2 ||
		p.Texts[0] != (operate.BulkText{Text: "status 404", Count: 10}) || p.Texts[1] != (operate.BulkText{Text: "status 503", Count: 5}) {
		t.Errorf("%+v %v, want all 15 with both texts", p, err)
	}
	for _, job := range []operate.BulkJob{{}, {Text: "status 503", AllTexts: true}} {
		job.Act, job.Filter, job.Max = client.ActDelete, group, 15
		if _, err := o.StartBulk(t.Context(), job); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("a job on a group starts without one of Text and AllTexts: %v", err)
		}
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActDelete, Filter: group, Text: "status 503"})); info.Done != 5 || info.Skipped != 0 {
		t.Errorf("%+v, want the 5 with the text, and no other looked at", info)
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActDelete, Filter: group, AllTexts: true})); info.Done != 10 || info.Skipped != 0 {
		t.Errorf("%+v, want all others", info)
	}
}

// The count of a group is exact where the texts are only those of the newest.
func TestHazard160_ThePreviewCountsAll(t *testing.T) {
	store := memory.New(memory.Options{})
	e := enginetest.On(t, few{store}, runtime.Options{})
	p, err := operate.New(e.Client(client.Options{})).PreviewBulk(t.Context(), client.Filter{FailureGroup: "1:all"})
	if err != nil || p.Count != 7_000_000 || !p.Exact || len(p.Texts) != 1 || !p.OtherTexts {
		t.Errorf("%+v %v, want all counted, and perhaps other texts", p, err)
	}
}

// few is a store with a group of which it knows the newest part only.
type few struct{ *memory.Provider }

func (few) List(context.Context, provider.ListRequest) (provider.ListResult, error) {
	return provider.ListResult{Instances: slices.Repeat([]provider.Instance{{Excerpt: []byte(`{"v":1,"text":"status 503"}`)}}, 10), Cursor: "more"}, nil
}

func (few) Count(_ context.Context, req provider.CountRequest) (provider.CountResult, error) {
	switch {
	case req.Filter.IDPrefix != "": // the instances of perdure itself
		return provider.CountResult{Exact: true}, nil
	case req.Max != 0:
		return provider.CountResult{Count: 5000}, nil
	}
	return provider.CountResult{Count: 7_000_000, Exact: true}, nil
}

// failing begins instances that fail with these texts, the first one oldest, on a store in which they are one group.
func failing(t *testing.T, texts ...string) (*world, *grouping) {
	t.Helper()
	store := &grouping{memory.New(memory.Options{}), map[provider.UUID]string{}}
	e := enginetest.On(t, store, runtime.Options{})
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	for n, text := range texts {
		h, err := client.Start(t.Context(), w.Client, Fails, text, client.WithID(fmt.Sprint("c-", n)))
		if err != nil {
			t.Fatal(err)
		}
		store.texts[h.Key()], w.handles = text, append(w.handles, h)
	}
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Fails); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	for _, h := range w.handles {
		w.WaitEnded(h.Key())
	}
	return w, store
}

// Instances with other texts do not count against the most that a job may act on, although they are newer.
func TestHazard160_OtherTextsDoNotCount(t *testing.T) {
	w, _ := failing(t, "status 503", "status 404", "status 503", "status 404", "status 404")
	p, err := operate.New(w.Client).PreviewBulk(t.Context(), client.Filter{IDPrefix: "c-", FailureGroup: "1:all"})
	if err != nil {
		t.Fatal(err)
	}
	only := p.Only("status 503")
	if only.Count != 2 || !only.Exact || only.Most != 2 || len(only.Sample) != 2 || p.Count != 5 || p.Most != 5 {
		t.Errorf("%+v, want the 2 of 5", only)
	}
	b, err := operate.New(w.Client).StartBulk(t.Context(), operate.BulkJob{
		Act: client.ActDelete, Filter: client.Filter{IDPrefix: "c-", FailureGroup: "1:all"}, Text: "status 503", Before: p.At, Max: only.Most,
	})
	if err != nil {
		t.Fatal(err)
	}
	if info := w.done(b); info.Done != 2 || info.Skipped+info.Failed != 0 {
		t.Errorf("%+v, want both with the text", info)
	}
	if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-"}); err != nil || n != 3 {
		t.Errorf("%d are left %v, want the 3 others", n, err)
	}
}

// The texts of a preview are those of instances that match the whole filter.
func TestHazard160_TextsObeyTheWholeFilter(t *testing.T) {
	w, _ := failing(t, "status 503", "status 404", "status 503")
	p, err := operate.New(w.Client).PreviewBulk(t.Context(), client.Filter{IDPrefix: "c-1", FailureGroup: "1:all"})
	if err != nil || p.Count != 1 || len(p.Texts) != 1 || p.Texts[0] != (operate.BulkText{Text: "status 404", Count: 1}) || p.OtherTexts {
		t.Errorf("%+v %v, want the text of the one that matches", p, err)
	}
}

// A text that no instance has, and a choice of texts without a group, are refused before anything is stored, and before anybody is asked.
func TestHazard160_TextsThatNoneHasAreRefused(t *testing.T) {
	long := strings.Repeat("x", 256)
	w, _ := failing(t, "two\nlines", long)
	o := operate.New(w.Client)
	for _, job := range []operate.BulkJob{
		{Filter: client.Filter{FailureGroup: "1:all"}, Text: "two lines"},
		{Filter: client.Filter{FailureGroup: "1:all"}, Text: `two\nlines`},
		{Filter: client.Filter{FailureGroup: "1:all", IDPrefix: "c-1"}, Text: "two\nlines"},
		{Filter: client.Filter{FailureGroup: "1:all"}, Text: long[1:]},
		{Filter: client.Filter{IDPrefix: "c-"}, Text: "two\nlines"},
		{Filter: client.Filter{IDPrefix: "c-"}, AllTexts: true},
	} {
		job.Act, job.Max = client.ActDelete, 2
		if _, err := o.StartBulk(t.Context(), job); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v starts: %v", job, err)
		}
		if err := o.CheckBulk(t.Context(), job); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v passes the check: %v", job, err)
		}
	}
	if jobs, _, err := o.Bulks(t.Context(), client.Page{}); err != nil || len(jobs) != 0 {
		t.Errorf("%+v %v, want no job", jobs, err)
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActDelete, Filter: client.Filter{FailureGroup: "1:all"}, Text: "two\nlines"})); info.Done != 1 {
		t.Errorf("%+v, want the one with the text", info)
	}
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActDelete, Filter: client.Filter{FailureGroup: "1:all"}, Text: long})); info.Done != 1 {
		t.Errorf("%+v, want the one with the long text", info)
	}
}

// Excerpts have the beginning of a long text only. Two that are cut may differ behind it, so none is named by it.
func TestHazard160_CutTextsAreNotNamed(t *testing.T) {
	store := &cutting{memory.New(memory.Options{})}
	e := enginetest.On(t, store, runtime.Options{})
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Fails); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	for n, text := range []string{"the same", "the same beginning"} {
		h, err := client.Start(t.Context(), w.Client, Fails, text, client.WithID(fmt.Sprint("c-", n)))
		if err != nil {
			t.Fatal(err)
		}
		w.WaitEnded(h.Key())
	}
	o, group := operate.New(w.Client), client.Filter{IDPrefix: "c-", FailureGroup: "1:all"}
	job := operate.BulkJob{Act: client.ActDelete, Filter: group, Text: "the same", Max: 2}
	if p, err := o.PreviewBulk(t.Context(), group); err != nil || len(p.Texts) != 2 || p.Texts[0].Cut || !p.Texts[1].Cut || p.Only("the same").Count != 1 {
		t.Errorf("%+v %v, want a whole text and one that is cut", p, err)
	}
	if info := w.done(w.bulk(job)); info.Done != 1 || info.Skipped+info.Failed != 0 {
		t.Errorf("%+v, want the one with the whole text", info)
	}
	if _, err := o.StartBulk(t.Context(), job); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "longer ones") {
		t.Errorf("a text that is cut starts a job: %v", err)
	}
}

// cutting is a store in which all failures are one group, and excerpts have eight bytes.
type cutting struct{ *memory.Provider }

func (c *cutting) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	var face struct {
		Text string `json:"text"`
	}
	if req.Status == provider.StatusFailed && json.Unmarshal(req.Excerpt, &face) == nil && strings.HasPrefix(face.Text, "the same") {
		req.FailureGroup = "1:all"
		req.Excerpt, _ = json.Marshal(map[string]any{"v": 1, "text": "the same", "cut": len(face.Text) > 8})
	}
	return c.Provider.CommitTurn(ctx, req)
}

// An instance whose text cannot be read counts as failed: nobody knows whether the job is about it.
func TestHazard160_UnreadableTextsFail(t *testing.T) {
	w, store := failing(t, "status 503", "status 404")
	job := form.Job{ID: "text", Act: string(client.ActDelete), Max: 2, Text: "status 503", Filter: provider.Filter{IDPrefix: "c-", FailureGroup: "1:all"}}
	sealed := &unreadable{store}
	e := enginetest.On(t, sealed, runtime.Options{})
	other := &world{Engine: e, Client: e.Client(client.Options{})}
	done, err := other.step(form.StepRequest{Job: job, Key: enginetest.NewID(), Max: 2}, func(form.Stepped) {})
	if err != nil || done.Failed != 2 || done.Total() != 2 || !strings.Contains(done.Failures[0].Error, "cannot be read") {
		t.Errorf("%+v %v, want both failed", done, err)
	}
	if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-"}); err != nil || n != 2 {
		t.Errorf("%d are left %v, want both", n, err)
	}
}

// unreadable is a store that shows excerpts which nobody can read.
type unreadable struct{ *grouping }

func (u *unreadable) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	res, err := u.grouping.Get(ctx, req)
	res.Instance.Excerpt = []byte("?")
	return res, err
}

func (u *unreadable) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	res, err := u.grouping.List(ctx, req)
	for i := range res.Instances {
		res.Instances[i].Excerpt = []byte("?")
	}
	return res, err
}
