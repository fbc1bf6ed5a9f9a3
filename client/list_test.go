package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

func TestListPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		for i := range 250 {
			w.Start(client.WithID(fmt.Sprintf("order-%03d", i)))
		}
		page, err := w.List(t.Context(), client.Filter{}, client.Page{})
		if err != nil || len(page.Items) != 100 || page.Cursor == "" {
			t.Fatalf("%d instances, cursor %q, %v", len(page.Items), page.Cursor, err)
		}
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.List, faulty.Count}, Every: 2, Kind: faulty.Before})
		i := 250
		for d, err := range w.All(t.Context(), client.Filter{IDPrefix: "order-"}) {
			i--
			if err != nil || d.ID != fmt.Sprintf("order-%03d", i) || d.Status != client.StatusRunning {
				t.Fatalf("at %d: %+v, %v", i, d, err)
			}
		}
		if i != 0 {
			t.Errorf("%d instances are missing", i)
		}
		for d, err := range w.All(t.Context(), client.Filter{}) {
			if err != nil || d.ID != "order-249" {
				t.Errorf("first is %+v, %v", d, err)
			}
			break
		}
		if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "order-1"}); n != 100 || err != nil {
			t.Errorf("%d instances, %v", n, err)
		}
	})
}

func TestListFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		parent, _, _ := w.family()
		done := w.Start(client.WithID("done"))
		w.Complete(done.Key(), `{}`)
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		w.Start(client.WithID("done"), client.WithIDPolicy(client.ReplaceEnded))
		later := time.Now()
		for name, c := range map[string]struct {
			filter client.Filter
			want   int64
		}{
			"all":       {client.Filter{}, 4},
			"replaced":  {client.Filter{Replaced: true}, 5},
			"name":      {client.Filter{Orchestration: "Child"}, 2},
			"parent":    {client.Filter{Parent: parent.Key()}, 1},
			"status":    {client.Filter{Statuses: []client.Status{client.StatusCompleted, client.StatusFailed}, Replaced: true}, 1},
			"blocked":   {client.Filter{Blocked: true}, 0},
			"after":     {client.Filter{CreatedAfter: later}, 1},
			"before":    {client.Filter{CreatedBefore: later}, 3},
			"prefix":    {client.Filter{IDPrefix: "d"}, 1},
			"version":   {client.Filter{CodeVersions: []string{"v1", ""}}, 4},
			"versions":  {client.Filter{CodeVersions: []string{"v1"}}, 0},
			"ended":     {client.Filter{EndedBefore: later, Replaced: true}, 1},
			"not ended": {client.Filter{EndedAfter: later, Replaced: true}, 0},
			"unmatched": {client.Filter{IDPrefix: "d", Orchestration: "Child"}, 0},
		} {
			page, err := w.List(t.Context(), c.filter, client.Page{Size: 1000})
			n, countErr := w.Count(t.Context(), c.filter)
			if err := errors.Join(err, countErr); err != nil || int64(len(page.Items)) != c.want || n != c.want {
				t.Errorf("%s: listed %d, counted %d, want %d: %v", name, len(page.Items), n, c.want, err)
			}
		}
	})
}

// Attributes are filtered by kind and value, and all conditions must hold.
func TestListByAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		begin := time.Now()
		for i := range 10 {
			h := w.Start(
				client.WithID(fmt.Sprint("i", i)), client.WithAttribute("n", i), client.WithAttribute("even", i%2 == 0),
				client.WithAttribute("word", fmt.Sprintf("w%d", i%3)), client.WithAttribute("at", begin.Add(time.Duration(i)*time.Hour)),
				client.WithAttribute("word", fmt.Sprintf("v%d", i%3)))
			if i == 9 {
				w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
					req.CustomStatus = []byte(`{"at":9}`)
					req.Values = []provider.KeyValue{{Key: "k", Value: []byte("1")}}
				})
			}
		}
		for name, c := range map[string]struct {
			filters []client.AttributeFilter
			want    int64
		}{
			"equal":      {[]client.AttributeFilter{client.AttributeIs("n", 7)}, 1},
			"other kind": {[]client.AttributeFilter{client.AttributeIs("n", "7")}, 0},
			"any of":     {[]client.AttributeFilter{client.AttributeIs("word", "v0", "v2", "w1")}, 7},
			"bool":       {[]client.AttributeFilter{client.AttributeIs("even", true)}, 5},
			"range":      {[]client.AttributeFilter{client.AttributeFrom("n", 3), client.AttributeBelow("n", 6)}, 3},
			"times":      {[]client.AttributeFilter{client.AttributeFrom("at", begin.Add(8*time.Hour))}, 2},
			"prefix":     {[]client.AttributeFilter{client.AttributePrefix("word", "v")}, 10},
			"both":       {[]client.AttributeFilter{client.AttributePrefix("word", "v1"), client.AttributeIs("even", false)}, 2},
			"missing":    {[]client.AttributeFilter{client.AttributePrefix("nothing", "")}, 0},
		} {
			filter := client.Filter{Attributes: c.filters}
			page, err := w.List(t.Context(), filter, client.Page{Size: 1000})
			n, countErr := w.Count(t.Context(), filter)
			if err := errors.Join(err, countErr); err != nil || int64(len(page.Items)) != c.want || n != c.want {
				t.Errorf("%s: listed %d, counted %d, want %d: %v", name, len(page.Items), n, c.want, err)
			}
		}
		page, err := w.List(t.Context(), client.Filter{}, client.Page{Size: 1})
		if err != nil || string(page.Items[0].CustomStatus) != `{"at":9}` || page.Items[0].Attributes["n"] != int64(9) || page.Items[0].Keys != nil {
			t.Errorf("listed as %+v, %v", page.Items, err)
		}
		for says, f := range map[string]client.AttributeFilter{
			"is empty":      {},
			"has 0 values":  client.AttributeIs[int]("n"),
			"has 513 bytes": client.AttributePrefix(strings.Repeat("n", 513), ""),
			"NUL byte":      client.AttributeFrom("n", "\x00"),
			"in the year":   client.AttributeBelow("n", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		} {
			_, err := w.List(t.Context(), client.Filter{Attributes: []client.AttributeFilter{f}}, client.Page{})
			if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("want %q: %v", says, err)
			}
		}
	})
}

// manyVersions has more versions than a filter takes.
func manyVersions() map[string]bool {
	all := map[string]bool{}
	for i := range provider.MaxBatch + 1 {
		all[fmt.Sprint(i)] = true
	}
	return all
}

func TestListRefusesBadInput(t *testing.T) {
	w := newWorld(t, client.Options{})
	list := func(f client.Filter, p client.Page) error {
		_, err := w.List(t.Context(), f, p)
		return err
	}
	_, countErr := w.Count(t.Context(), client.Filter{Orchestration: "\xff"})
	var rangeErr error
	for _, err := range w.All(t.Context(), client.Filter{IDPrefix: "\x00"}) {
		rangeErr = err
	}
	for name, err := range map[string]error{
		"size":             list(client.Filter{}, client.Page{Size: -1}),
		"large":            list(client.Filter{}, client.Page{Size: 1001}),
		"cursor":           list(client.Filter{}, client.Page{Cursor: "x"}),
		"status":           list(client.Filter{Statuses: []client.Status{"Sleeping"}}, client.Page{}),
		"execution status": list(client.Filter{Statuses: []client.Status{client.StatusReset}}, client.Page{}),
		"year":             list(client.Filter{EndedAfter: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, client.Page{}),
		"version":          list(client.Filter{CodeVersions: []string{"\x00"}}, client.Page{}),
		"versions":         list(client.Filter{CodeVersions: slices.Collect(maps.Keys(manyVersions()))}, client.Page{}),
		"count":            countErr,
		"range":            rangeErr,
	} {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// scans is a store whose lists look at one row a call, however few match, and take time.
type scans struct {
	hidden

	calls int
}

func (s *scans) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	time.Sleep(15 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
	s.calls++
	return provider.ListResult{Cursor: fmt.Sprint(s.calls)}, nil
}

// A page ends although it is not full when the store has looked for long. Its cursor leads on.
func TestHazard89_PagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &scans{hidden: hidden{provider.FullOf(memory.New(memory.Options{}))}}
		t.Cleanup(func() { _ = store.Close() })
		c := clienttest.New(t, store, client.Options{})
		began := time.Now()
		page, err := c.List(t.Context(), client.Filter{}, client.Page{})
		if err != nil || len(page.Items) != 0 || page.Cursor != "2" || time.Since(began) > 50*time.Millisecond {
			t.Errorf("after %v: %+v, %v", time.Since(began), page, err)
		}
	})
}

// A page names its omitted columns to the store, which does not read them.
func TestHazard89_ColumnsAreOmitted(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"), client.WithAttribute("n", 1))
	w.Commit(h.Key(), func(req *provider.CommitTurnRequest) { req.CustomStatus = []byte(`1`) })
	all, err := w.List(t.Context(), client.Filter{}, client.Page{})
	few, fewErr := w.List(t.Context(), client.Filter{}, client.Page{Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus}})
	if err := errors.Join(err, fewErr); err != nil {
		t.Fatal(err)
	}
	if len(all.Items[0].Attributes) != 1 || string(all.Items[0].CustomStatus) != "1" || few.Items[0].Attributes != nil || few.Items[0].CustomStatus != nil {
		t.Errorf("all: %+v\nfew: %+v", all.Items[0], few.Items[0])
	}
	for d, err := range w.All(t.Context(), client.Filter{}, client.ColumnAttributes) {
		if err != nil || d.Attributes != nil || d.CustomStatus == nil {
			t.Errorf("ranged: %+v, %v", d, err)
		}
	}
	if _, err := w.List(t.Context(), client.Filter{}, client.Page{Omit: []client.Column{"result"}}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("unknown column: %v", err)
	}
}

// Counts go no further than asked, and leave out perdure's own instances.
func TestHazard89_CountsAreCapped(t *testing.T) {
	w := newWorld(t, client.Options{})
	for i := range 12 {
		w.Start(client.WithID(fmt.Sprint("i", i)))
	}
	w.system("perdure/schedule/a")
	for most, want := range map[int64]client.Counted{
		5: {Count: 5}, 11: {Count: 11}, 12: {Count: 12, Exact: true}, 100: {Count: 12, Exact: true},
	} {
		if n, err := w.CountUpTo(t.Context(), client.Filter{}, most); err != nil || n != want {
			t.Errorf("up to %d: %+v, %v, want %+v", most, n, err, want)
		}
	}
	if n, err := w.CountUpTo(t.Context(), client.Filter{System: true}, 100); err != nil || n.Count != 13 {
		t.Errorf("with the system: %+v, %v", n, err)
	}
	if n, err := w.CountUpTo(t.Context(), client.Filter{IDPrefix: "perdure/"}, 100); err != nil || n.Count != 1 {
		t.Errorf("the system: %+v, %v", n, err)
	}
	if _, err := w.CountUpTo(t.Context(), client.Filter{}, 0); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("up to 0: %v", err)
	}
	for text, n := range map[string]client.Counted{
		"0": {Exact: true}, "1000": {Count: 1000, Exact: true}, "10k+": {Count: 10_000}, "250+": {Count: 250}, "0+": {},
	} {
		if n.String() != text {
			t.Errorf("%+v is shown as %s, must be %s", n, n, text)
		}
	}
}

// system makes an instance of perdure itself.
func (w *world) system(id string) {
	w.t.Helper()
	_, err := w.store.Create(w.t.Context(), provider.CreateRequest{
		ID: id, Key: provider.UUID(uuid.New()), Commit: provider.UUID(uuid.New()), Name: "perdure.schedule", EngineLevel: 1,
		Message: provider.NewMessage{Kind: provider.MessageKind(history.KindExecutionStarted), Payload: history.Encode(nil, history.Event{
			Body: &history.ExecutionStarted{Name: "perdure.schedule"},
		})},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
