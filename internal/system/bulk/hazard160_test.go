package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
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
	if info := w.done(w.bulk(operate.BulkJob{Act: client.ActDelete, Filter: group, Text: "status 503"})); info.Done != 5 || info.Skipped != 10 {
		t.Errorf("%+v, want the 5 with the text", info)
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
	return provider.ListResult{Instances: make([]provider.Instance, 10), Cursor: "more"}, nil
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

func (few) FailureGroups(context.Context, provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	g := provider.FailureGroup{Group: "1:all", Count: 5000, Texts: []provider.FailedText{{Excerpt: []byte(`{"text":"status 503"}`), Count: 5000}}}
	return provider.FailureGroupsResult{Groups: []provider.FailureGroup{g}, AtLeast: true}, nil
}
