package model

import (
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// play plays one sequence through the handles of a store until it is over. If the two sides differ it tells the story and fails t.
func play(t *rapid.T, handles []provider.Provider, o *options, over func() bool, tell func(story string)) {
	clock := memory.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	store := memory.New(memory.Options{Clock: clock})
	defer func() { _ = store.Close() }()
	d := &driver{
		ctx:      t.Context(),
		timeline: timeline{model: newSide(store), subject: newSide(handles...), clock: clock},
		world:    world{source: source{t: t, many: len(handles) > 1}, released: map[provider.UUID]bool{}},
	}
	if o.advance != nil {
		d.advance = func(by time.Duration) { o.advance(handles[0], by) }
	}
	d.features = provider.FeaturesOf(handles[0])
	d.step(func(*driver) {}) // it makes the first mark
	t.Repeat(map[string]func(*rapid.T){
		"step": func(t *rapid.T) {
			if over() {
				return
			}
			d.t = t
			d.step(rapid.SampledFrom(actions(d.subject)).Draw(t, "").do)
		},
		"": func(t *rapid.T) {
			if d.differs == "" {
				return
			}
			tell(d.String())
			t.Logf("%s", d.String())
			t.Fatalf("the provider differs from the model")
		},
	})
}

// step runs an action on both sides, lets short leases and delays expire, and compares everything that is stored.
func (d *driver) step(do func(*driver)) {
	d.failed(d.pass(d.ctx, tick))
	do(d)
	if d.brief {
		d.see(d.expire)
	}
	d.brief = false
	d.see(d.look)
}
