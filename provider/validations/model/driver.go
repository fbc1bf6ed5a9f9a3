package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// watchdog is how long one call may take.
const watchdog = 30 * time.Second

// A driver plays one sequence on both sides.
type driver struct {
	t       *rapid.T
	ctx     context.Context //nolint:containedctx // it lives as long as the sequence
	model   *side
	subject *side
	clock   *memory.Clock
	advance func(time.Duration) // of the subject; nil: its time passes by itself

	begins  bool // the subject stores first turns
	brief   bool // the step gave something that is over soon
	idles   bool // so does what uses a session
	lines   []string
	differs string

	counter    int // of what must be unique
	keys       int
	rows       []provider.Instance // that the model has
	turns      []seenTurn
	released   map[provider.UUID]bool // versions of instances of which a turn was given back
	tasks      []seenTask
	lastCommit func(*side) provider.CommitTurnRequest
	lastCreate struct {
		req   func(*side) provider.CreateRequest
		brief bool // something of it is over soon
	}
}

// A seenTurn is a turn that was fetched; its messages have their numbers as IDs.
type seenTurn struct {
	provider.Turn

	token provider.UUID
}

// A seenTask is a task that was leased to somebody.
type seenTask struct {
	provider.TaskRef

	token   provider.UUID
	attempt int64
}

// play plays one sequence. If the two sides differ it tells the story and fails t.
func play(t *rapid.T, subject provider.Provider, o *options, tell func(story string)) {
	clock := memory.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	store := memory.New(memory.Options{Clock: clock})
	defer func() { _ = store.Close() }()
	d := &driver{
		t: t, ctx: t.Context(), model: newSide(store), subject: newSide(subject), clock: clock,
		released: map[provider.UUID]bool{},
	}
	if o.advance != nil {
		d.advance = func(by time.Duration) { o.advance(subject, by) }
	}
	d.step(tryFirst) // it makes the first mark, too
	t.Repeat(map[string]func(*rapid.T){
		"step": func(t *rapid.T) {
			d.t = t
			d.step(rapid.SampledFrom(actions()).Draw(t, "").do)
		},
		"": func(t *rapid.T) {
			if d.differs == "" {
				return
			}
			tell(d.story())
			t.Logf("%s", d.story())
			t.Fatalf("the provider differs from the model")
		},
	})
}

// story tells the sequence and what differs at its end.
func (d *driver) story() string {
	var b strings.Builder
	for i, line := range d.lines {
		fmt.Fprintf(&b, "\n%2d  %s", i+1, line)
	}
	return b.String() + "\n" + d.differs
}

// step lets both sides do something, lets what is short lapse, and looks at all that is stored.
func (d *driver) step(do func(*driver)) {
	d.pass(tick)
	do(d)
	if d.differs == "" && d.brief {
		d.linef("what is short lapses")
		d.pass(pause)
	}
	d.brief = false
	d.see(d.look)
}

// pass moves the clocks on and begins the next step.
func (d *driver) pass(by time.Duration) {
	d.clock.Advance(by)
	switch {
	case d.advance != nil:
		d.advance(by)
	case by > tick:
		ctx, cancel := context.WithTimeout(d.ctx, watchdog)
		defer cancel()
		if _, err := d.subject.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: by}); err != nil {
			d.differf("waiting for the provider's time to pass: %v", err)
		}
	}
	d.model.marks = append(d.model.marks, mark{d.now(), d.now()})
	d.subject.start()
	if len(d.subject.marks) > 1 && d.advance == nil && by <= tick {
		return // the step begins where the last one ended
	}
	d.stamp()
	d.subject.marks[len(d.subject.marks)-1].from = d.subject.last()
}

// now is the model's time.
func (d *driver) now() provider.Time { return provider.TimeOf(d.clock.Now()) }

// stamp reads the subject's clock after a call.
func (d *driver) stamp() {
	ctx, cancel := context.WithTimeout(d.ctx, watchdog)
	defer cancel()
	now, err := d.subject.now(ctx)
	if err != nil {
		d.differf("reading the provider's clock: %v", err)
		return
	}
	d.subject.marks[len(d.subject.marks)-1].to = now
}

func (d *driver) linef(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *driver) differf(format string, args ...any) {
	if d.differs == "" {
		d.differs = fmt.Sprintf(format, args...)
	}
}
