package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/operate"
)

const (
	theUpdate = "u"
	refused   = "bad"
)

// table says what a caller is told of an update that was at a stage (row) when something happened to its instance (column). All ways to ask
// are told the same. The row "behind" is an update that comes after the event that lets the code end.
const table = `
              end       continue  terminate delete   reset     move     seal  import
sent          ok        ok        ended     notfound ok        ok       moved ok
behind        ended     ok        ended     notfound ok        ok       moved ok
received      ended     ok        ended     notfound ok        ok       moved ended
queued        abandoned ok        abandoned notfound ok        ok       moved ok
accepted      abandoned abandoned abandoned notfound ok        ok       moved ok
running       abandoned abandoned abandoned notfound ok        ok       moved ok
holding       ok        notcarried abandoned notfound ok       ok       moved ok
done          ok        ok        ok        notfound discarded ok       ok    ok
rejected      rejected  rejected  rejected  notfound rejected  rejected rejected rejected
unknown       unknown   unknown   unknown   notfound unknown   unknown  unknown  unknown
panicked      panicked  panicked  panicked  notfound panicked  panicked panicked panicked
failed        failed    failed    failed    notfound discarded failed   failed   failed
`

// told names what callers are told.
var told = map[string]error{
	"ok": nil, "ended": client.ErrEnded, "abandoned": client.ErrAbandoned, "notfound": client.ErrNotFound, "discarded": client.ErrDiscarded,
	"rejected": client.ErrRejected, "unknown": client.ErrUnknownUpdate, "panicked": client.ErrPanicked, "failed": client.ErrUpdateFailed,
	"moved": client.ErrMoved, "notcarried": client.ErrNotCarried,
}

// hasNotRun are the errors that say so.
var hasNotRun = []error{client.ErrRejected, client.ErrUnknownUpdate, client.ErrPanicked, client.ErrClosing, client.ErrEnded}

// outcomes are those of the stages that are an end.
var outcomes = map[string]int64{
	"done": history.UpdateDone, "rejected": history.UpdateRefused, "unknown": history.UpdateUnknown,
	"panicked": history.UpdatePanicked, "failed": history.UpdateFailed,
}

// A cell is an update at a stage, and what happens then.
type cell struct {
	*place

	t            *testing.T
	stage, event string
	id           string
	name, in     string // of the update
	h            client.Handle[int]
	at           *place // where the instance is afterwards
	target       *place // of moves
}

func (c *cell) do(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

func (c *cell) send(name, id, in string) {
	c.t.Helper()
	_, err := client.SendUpdate[string](c.t.Context(), c.h, name, in, client.WithUpdateID(id))
	c.do("sending "+id, err)
}

// delayed reports whether the code has not begun. What needs an execution is tried on an update that came while one closes.
func (c *cell) delayed() bool {
	return c.stage == "received" && c.event != "continue" && c.event != "reset" && c.event != "move"
}

// begin starts the instance and brings the update to its stage.
func (c *cell) begin() {
	ctx := c.t.Context()
	opts := []client.StartOption{client.WithID(c.id)}
	if c.delayed() {
		opts = append(opts, client.WithDelay(time.Hour))
	}
	var err error
	c.h, err = client.Start(ctx, c.c, c.code, 0, opts...)
	c.do("start", err)
	c.name, c.in = "quick", theUpdate
	if !c.delayed() {
		c.send("quick", "first", "first")
		_, err := client.UpdateOf[string](c.h, "first").Wait(ctx)
		c.do("the first update", err)
	}
	switch c.stage {
	case "sent":
		c.do("suspend", c.h.Suspend(ctx, ""))
		c.send(c.name, theUpdate, c.in)
	case "behind":
		c.do("suspend", c.h.Suspend(ctx, ""))
		c.main()
		c.send(c.name, theUpdate, c.in)
	case "received":
		if !c.delayed() {
			c.send("holds", "holder", "holder")
			c.place.stage(c.h.Key(), "holder", history.UpdateRunning)
			c.do("raise", c.h.Raise(ctx, "main", "continue"))
			c.Until("the closing", func() bool {
				d, err := c.h.Describe(ctx)
				c.do("describe", err)
				return d.Closing != nil
			})
		}
		c.send(c.name, theUpdate, c.in)
		c.place.stage(c.h.Key(), theUpdate, history.UpdatePending)
	case "queued", "accepted", "running", "holding":
		c.name = map[string]string{"running": "works", "holding": "holds"}[c.stage]
		if c.name == "" {
			c.name = "waits"
		}
		if c.stage == "queued" {
			c.send(c.name, "before", "before")
		}
		c.send(c.name, theUpdate, c.in)
		c.place.stage(c.h.Key(), theUpdate, history.UpdateRunning)
	default:
		if c.stage != "done" && c.stage != "rejected" {
			c.name = c.stage // see taker
		}
		if c.stage == "rejected" {
			c.in = refused
		}
		c.send(c.name, theUpdate, c.in)
		c.place.stage(c.h.Key(), theUpdate, outcomes[c.stage])
	}
}

// main raises the event that lets the code end or continue, if that is what happens.
func (c *cell) main() {
	switch c.event {
	case "end", "continue":
		c.do("raise", c.h.Raise(c.t.Context(), "main", c.event))
	}
}

// happen lets happen what the column says.
func (c *cell) happen() {
	ctx := c.t.Context()
	suspended := c.stage == "sent" || c.stage == "behind"
	c.at = c.place
	switch c.event {
	case "end":
		if c.delayed() { // an instance that is cancelled before its code began ends at once
			c.do("cancel", c.h.Cancel(ctx, ""))
		} else if c.stage != "behind" {
			c.main()
		}
		c.closed()
		c.resume(suspended)
		if _, err := c.h.Wait(ctx); err != nil && !errors.Is(err, client.ErrFailed) {
			c.t.Fatal(err)
		}
	case "continue":
		if c.stage != "behind" && c.stage != "received" {
			c.main()
		}
		if c.stage == "received" {
			close(c.gate(c.id))
		}
		c.closed()
		c.resume(suspended)
		c.Until("the next execution", func() bool { return c.Get(c.h.Key()).Execution == 2 })
	case "terminate":
		c.do("terminate", c.h.Terminate(ctx, ""))
	case "delete":
		_, err := c.h.Delete(ctx, client.Force())
		c.do("delete", err)
	case "reset":
		_, err := client.Reset(ctx, c.h, 1)
		c.do("reset", err)
	case "move":
		c.do("move", c.h.Move(ctx, "2"))
		c.resume(suspended)
	case "seal", "import":
		var file bytes.Buffer
		_, err := operate.New(c.c).Export(ctx, &file, operate.ExportOptions{IDs: []string{c.id}, Seal: true})
		c.do("export", err)
		if c.event == "seal" {
			return
		}
		_, err = operate.New(c.target.c).Import(ctx, &file, operate.ImportOptions{})
		c.do("import", err)
		c.at = c.target
		c.h = client.HandleOf[int](c.target.c, c.id, c.h.Key())
		c.resume(suspended)
		if c.stage == "received" {
			c.do("terminate", c.h.Terminate(ctx, ""))
		}
	}
}

// closed lets the update that holds the end go on, once the function has returned.
func (c *cell) closed() {
	if c.stage == "holding" {
		c.Until("the closing", func() bool {
			d, err := c.h.Describe(c.t.Context())
			c.do("describe", err)
			return d.Closing != nil
		})
		close(c.gate(c.id))
	}
}

func (c *cell) resume(suspended bool) {
	if suspended {
		c.do("resume", c.h.Resume(c.t.Context(), ""))
	}
}

// ways are those in which a caller asks for the outcome. A live one asks before it happens.
var ways = map[string]func(ctx context.Context, c *cell) (string, error){
	"live": func(ctx context.Context, c *cell) (string, error) {
		return client.UpdateOf[string](c.h, theUpdate).Wait(ctx)
	},
	"UpdateOf": func(ctx context.Context, c *cell) (string, error) {
		return client.UpdateOf[string](c.h, theUpdate).Wait(ctx)
	},
	"repeat": func(ctx context.Context, c *cell) (string, error) {
		return client.Update[string](ctx, c.h, c.name, c.in, client.WithUpdateID(theUpdate))
	},
	"StartAndUpdate": func(ctx context.Context, c *cell) (string, error) {
		_, u, err := client.StartAndUpdate[string](ctx, c.at.c, c.at.code, 0, c.name, c.in,
			client.WithID(c.id), client.WithIDPolicy(client.UseExisting), client.WithUpdateID(theUpdate))
		if err != nil {
			return "", err
		}
		return u.Wait(ctx)
	},
}

// asks reports whether a way is one of the cell.
func (c *cell) asks(way, want string) bool {
	switch {
	case way == "live" && (c.event == "import" || outcomes[c.stage] != 0): // it asks the source, or has been told before
		return false
	case (way == "live" || way == "UpdateOf") && c.event == "seal": // a wait is told within half a minute: see TestWaitsEndAtTheMove
		return want != "moved"
	case way == "StartAndUpdate" && c.event == "delete": // it starts another instance
		return false
	}
	return true
}

type answer struct {
	way, out string
	err      error
}

func (c *cell) run(want string) {
	c.begin()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	answers, asked := make(chan answer, len(ways)), 0
	ask := func(way string) {
		if c.asks(way, want) {
			asked++
			of := *c
			go func() {
				out, err := ways[way](ctx, &of)
				answers <- answer{way, out, err}
			}()
		}
	}
	ask("live")
	c.happen()
	for way := range ways {
		if way != "live" {
			ask(way)
		}
	}
	c.release()
	for range asked {
		a := <-answers
		c.judge(&a, want)
	}
}

// release lets go on what waits.
func (c *cell) release() {
	if c.event != "seal" && c.name == "waits" {
		for range 2 { // one for the update before
			err := c.h.Raise(c.t.Context(), "go", nil)
			if err != nil && !errors.Is(err, client.ErrEnded) && !errors.Is(err, client.ErrNotFound) {
				c.t.Fatal(err)
			}
		}
	}
	done := c.stage == "received" && c.event == "continue" || c.stage == "holding" && (c.event == "end" || c.event == "continue")
	if !done {
		close(c.at.gate(c.id))
	}
}

// judge compares what a caller was told with the table, and with what has run.
func (c *cell) judge(a *answer, want string) {
	c.t.Helper()
	if !errors.Is(a.err, told[want]) || a.err != nil && told[want] == nil || want == "ok" && a.out != theUpdate {
		c.t.Errorf("%s is told %q, %v; want %s", a.way, a.out, a.err, want)
	}
	for _, promise := range hasNotRun {
		if errors.Is(a.err, promise) && (c.hasRun(c.id) || c.target.hasRun(c.id)) {
			c.t.Errorf("%s is told %v, which means that the handler has not run; but it has", a.way, a.err)
		}
	}
}

// Each caller is told what is true: at each stage of an update, by each way to ask, whatever happens to the instance.
func TestHazard51_WhatCallersAreTold(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	events := strings.Fields(lines[0])
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			source, target := newPlace(t, open(t)), newPlace(t, open(t))
			for _, line := range lines[1:] {
				row := strings.Fields(line)
				for n, want := range row[1:] {
					c := &cell{place: source, target: target, stage: row[0], event: events[n], id: fmt.Sprintf("%s-%s", row[0], events[n])}
					t.Run(c.id, func(t *testing.T) {
						t.Parallel()
						c.t = t
						c.run(want)
					})
				}
			}
		})
	}
}
