package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

func TestListPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		for i := range 250 {
			w.start(client.WithID(fmt.Sprintf("order-%03d", i)))
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
		done := w.start(client.WithID("done"))
		w.complete(done.Key(), `{}`)
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		w.start(client.WithID("done"), client.WithIDPolicy(client.ReplaceEnded))
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
			h := w.start(
				client.WithID(fmt.Sprint("i", i)), client.WithAttribute("n", i), client.WithAttribute("even", i%2 == 0),
				client.WithAttribute("word", fmt.Sprintf("w%d", i%3)), client.WithAttribute("at", begin.Add(time.Duration(i)*time.Hour)),
				client.WithAttribute("word", fmt.Sprintf("v%d", i%3)))
			if i == 9 {
				w.commit(h.Key(), func(req *provider.CommitTurnRequest) {
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
		"count":            countErr,
		"range":            rangeErr,
	} {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
