package client_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
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
