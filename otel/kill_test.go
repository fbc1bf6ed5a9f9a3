package otel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// caller is the process of the test: it has a client only, which exports to the same file as the workers.
type caller struct {
	*testing.T
	*worker

	client  *client.Client
	request func(name string) (context.Context, func())
}

func newCaller(t *testing.T, w *worker) *caller {
	t.Helper()
	store, err := sqlite.Open(w.Store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	o, spans, err := file{w.Spans}.observer()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(store, client.Options{Observer: o, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &caller{T: t, worker: w, client: c, request: func(name string) (context.Context, func()) {
		ctx, span := spans.Tracer("test").Start(t.Context(), name)
		return ctx, func() { span.End() }
	}}
}

// until looks until a condition holds.
func (c *caller) until(what string, cond func() bool) {
	c.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for begin := time.Now(); !cond(); <-look.C {
		if time.Since(begin) > time.Minute {
			c.Fatalf("waited for a minute: %s; the spans are\n%s", what, strings.Join(treeOf(c.spans(c.T)), "\n"))
		}
	}
}

// start starts an order as part of a request.
func (c *caller) start() client.Handle[int] {
	c.Helper()
	ctx, end := c.request("request")
	defer end()
	h, err := client.StartNamed[int](ctx, c.client, "order", 1)
	if err != nil {
		c.Fatal(err)
	}
	return h
}

// waits waits until an order waits for its event.
func (c *caller) waits(h client.Handle[int]) {
	c.Helper()
	c.until("the order waits", func() bool {
		status, err := client.StatusOf[string](c.Context(), h)
		return err == nil && status == "waiting"
	})
}

// pay updates an order, questions it, and raises the event that it waits for. It returns when the order has ended.
func (c *caller) pay(h client.Handle[int], queries int) {
	c.Helper()
	if _, err := client.Update[int](c.Context(), h, "add", 1); err != nil {
		c.Fatal(err)
	}
	for range queries {
		if _, err := client.Query[string](c.Context(), h, "stack", nil); err != nil {
			c.Fatal(err)
		}
	}
	if err := h.Raise(c.Context(), "paid", 5); err != nil {
		c.Fatal(err)
	}
	if n, err := h.Wait(c.Context()); err != nil || n != 5 {
		c.Errorf("the order ended with %d, %v", n, err)
	}
}

// payAll raises the event that orders wait for, once each.
func (c *caller) payAll(all []client.Handle[int]) {
	c.Helper()
	for _, h := range all {
		if err := h.Raise(c.Context(), "paid", 5, client.WithRequestID("paid")); err != nil && !errors.Is(err, client.ErrEnded) {
			c.Error(err)
		}
	}
}

// caches are the ways in which a worker holds executions between turns.
var caches = map[string]worker{
	"cached": {}, "uncached": {Cache: runtime.Off}, "evicted": {Bytes: 1},
}

// A worker process is killed with SIGKILL while an order waits, while its activity runs, or while that of its child does. Another process
// goes on. The tree of spans is the one of an order that nobody interrupts, with the same links, with the cache on, off and evicted.
// Questions, which replay, add no span.
func TestKilledWorkersLeaveTheSameTree(t *testing.T) {
	t.Parallel()
	for cache, of := range caches {
		for name, hang := range map[string]string{"nothing": "-", "while it waits": "", "in an activity": "charge", "in a child": "send"} {
			t.Run(cache+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := of
				w.Store, w.Spans = filepath.Join(t.TempDir(), "orders.db"), filepath.Join(t.TempDir(), "spans.jsonl")
				if hang != "-" {
					w.Hang = hang
				}
				p := w.launch(t)
				c := newCaller(t, &w)
				h := c.start()
				switch hang {
				case "-":
					c.waits(h)
				case "":
					c.waits(h)
					// request, start, run, two attempts of charge, run, send and end of ship: a kill loses what is not exported yet.
					c.until("all is exported", func() bool { return len(c.spans(t)) == 8 })
					p.kill()
					p = w.launch(t)
				default:
					p.says("hangs")
					c.until("what was before is exported", func() bool { return len(c.spans(t)) >= 3 && (hang == "charge" || len(c.spans(t)) >= 6) })
					p.kill()
					w.Hang = ""
					p = w.launch(t)
					c.waits(h)
				}
				c.pay(h, 100)
				p.stop()
				spans := c.spans(t)
				if got := treeOf(spans); !slices.Equal(got, wanted) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
				}
				if got, want := linksOf(spans), []string{"activity charge 2 to activity charge 1", "handle add to update add", "handle paid to raise paid"}; !slices.Equal(got, want) {
					t.Errorf("the links are %q, want %q", got, want)
				}
			})
		}
	}
}

// linksOf returns the links of spans by names, and attempts by their number, too.
func linksOf(spans []exported) (links []string) {
	byID := map[string]string{}
	for _, s := range spans {
		byID[s.Span] = strings.TrimSpace(s.Name + " " + s.Attrs["perdure.attempt"])
	}
	for _, s := range spans {
		for _, to := range s.Links {
			links = append(links, byID[s.Span]+" to "+byID[to])
		}
	}
	slices.Sort(links)
	return links
}

// Workers are killed at any moment, with many orders at work. Spans told just before a kill are lost. All others are exported once,
// and stand under the anchor that the history of their instance names.
func TestKillsAtAnyMomentKeepTheAnchors(t *testing.T) {
	t.Parallel()
	kills, orders := 12, 40
	if testing.Short() {
		kills, orders = 3, 10
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := worker{Store: filepath.Join(t.TempDir(), "orders.db"), Spans: filepath.Join(t.TempDir(), "spans.jsonl")}
	p := w.launch(t)
	c := newCaller(t, &w)
	var all []client.Handle[int]
	for n := range kills {
		killed, victim := make(chan error, 1), p.cmd.Process
		time.AfterFunc(time.Duration(random.IntN(60))*time.Millisecond, func() { killed <- victim.Kill() }) // at any moment of what follows
		for range orders / kills {
			all = append(all, c.start())
		}
		c.payAll(all[:len(all)*n/kills])
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		p.exits()
		p = w.launch(t)
	}
	c.payAll(all)
	anchors := map[string]string{} // by key and execution
	for _, h := range all {
		if n, err := h.Wait(t.Context()); err != nil || n != 5 {
			t.Errorf("an order ended with %d, %v", n, err)
		}
		c.noteAnchors(h, anchors)
	}
	p.stop()
	spans, seen, kinds := c.spans(t), map[string]bool{}, map[string]int{}
	for _, s := range spans {
		of := s.Attrs["perdure.instance.key"]
		if of == "" {
			continue // of the client
		}
		anchor := anchors[of]
		_, rest, _ := strings.Cut(anchor, "-")
		trace, span, _ := strings.Cut(rest, "-")
		span, _, _ = strings.Cut(span, "-")
		what := fmt.Sprint(of, s.Name, s.Attrs["perdure.event.id"], s.Attrs["perdure.attempt"])
		switch {
		case anchor == "":
			t.Errorf("%+v belongs to no order", s)
		case s.Trace != trace, strings.HasPrefix(s.Name, "run ") != (s.Span == span), !strings.HasPrefix(s.Name, "run ") && s.Parent != span:
			t.Errorf("%+v does not belong to the anchor %s", s, anchor)
		case seen[what]:
			t.Errorf("%+v is there twice", s)
		}
		seen[what] = true
		kinds[s.Name]++
	}
	for name, most := range map[string]int{
		"run order": 1, "activity charge": 2, "run ship": 1, "activity send": 1, "end ship": 1, "end order": 1, "handle paid": 1,
	} {
		if n := kinds[name]; n > most*len(all) {
			t.Errorf("%d spans %q of %d orders", n, name, len(all))
		}
	}
	if kinds["run order"] == 0 { // how many a kill loses depends on the machine
		t.Error("no span of an order was exported")
	}
	t.Logf("%d orders, %d kills: %v", len(all), kills, kinds)
}

// noteAnchors notes the anchors of an order and of its child, as their histories name them.
func (c *caller) noteAnchors(h client.Handle[int], anchors map[string]string) {
	c.Helper()
	child := ""
	for e, err := range h.History(c.Context(), 0) {
		if err != nil {
			c.Fatal(err)
		}
		switch e.Kind {
		case "ExecutionStarted":
			anchors[h.Key().String()] = e.Header["perdure.trace"]
		case "ChildStarted":
			child = e.Instance
		}
	}
	if child == "" {
		return
	}
	for e, err := range c.client.History(c.Context(), child, 0) {
		if err != nil {
			c.Fatal(err)
		}
		if e.Kind == "ExecutionStarted" {
			d, err := c.client.Describe(c.Context(), child)
			if err != nil {
				c.Fatal(err)
			}
			anchors[d.Key.String()] = e.Header["perdure.trace"]
		}
	}
}
