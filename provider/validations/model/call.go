package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// A method is one of the contract, such as provider.Provider.Create.
type method[Req, Res any] func(provider.Provider, context.Context, Req) (Res, error)

// call makes the same call on both sides, prints it and compares the answers. req makes the
// request for a side, tidy takes out of the answer what may differ. It answers what the model
// said, tidied.
func call[Req, Res any](d *driver, name string, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res)) (Res, error) {
	at := len(d.lines)
	d.linef("%s %s", name, show(req(d.model), d.explain).text.String())
	res, err := compare(d, fn, req, tidy, d.stamp)
	if err != nil {
		d.lines[at] += " = " + errorName(err)
	} else {
		d.lines[at] += " = " + show(res, d.explain).text.String()
	}
	return res, err
}

// compare is call without the line; stamp notes how late it is by the subject's clock.
func compare[Req, Res any](d *driver, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res), stamp func()) (Res, error) {
	want, wantErr := ask(d, d.model, fn, req, tidy)
	if d.differs != "" {
		return want, wantErr
	}
	got, gotErr := ask(d, d.subject, fn, req, tidy)
	stamp()
	d.same(want, wantErr, got, gotErr)
	return want, wantErr
}

func ask[Req, Res any](d *driver, s *side, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res)) (Res, error) {
	ctx, cancel := context.WithTimeout(d.ctx, watchdog)
	defer cancel()
	res, err := fn(s.Provider, ctx, req(s))
	if err == nil && tidy != nil {
		tidy(s, &res)
	}
	return res, err
}

// same compares two answers; that of the model comes first.
func (d *driver) same(want any, wantErr error, got any, gotErr error) {
	if wantErr != nil || gotErr != nil {
		if w, g := outcome(wantErr), outcome(gotErr); w != g {
			d.differf("model:    %s\nprovider: %s", w, g)
		}
		return
	}
	w, g := show(want, nil), show(got, nil)
	if w.text.String() != g.text.String() {
		d.differf("model:    %s\nprovider: %s", show(want, d.explain).text.String(), g.text.String())
		return
	}
	for i := range w.times {
		if wrong := d.parted(w.times[i], g.times[i]); wrong != "" {
			d.differf("instant %d of %s: %s", i+1, show(want, d.explain).text.String(), wrong)
			return
		}
	}
}

func outcome(err error) string {
	if err == nil {
		return "no error"
	}
	return errorName(err)
}

// slack is by how much the two clocks of a store, for instants and for leases, may part.
const slack = provider.Time(tick / time.Microsecond)

// parted says how an instant of the provider is not that of the model.
func (d *driver) parted(want, got provider.Time) string {
	step, after, ok := d.place(want)
	if !ok {
		return fmt.Sprintf("the model's %d is that of no step", want)
	}
	of := d.subject.marks[step]
	if from, to := of.from.Add(after), of.to.Add(after); got < from-slack || got > to+slack {
		return fmt.Sprintf("want %s, got %v later than that began", d.explain(want), got.Sub(from))
	}
	return ""
}

// place says of which step an instant of the model is, and by how much later.
func (d *driver) place(t provider.Time) (step int, after time.Duration, ok bool) {
	for step, m := range slices.Backward(d.model.marks) {
		for _, after := range []time.Duration{0, short, long, -long} {
			if m.from.Add(after) == t {
				return step, after, true
			}
		}
	}
	return 0, 0, false
}

// explain names an instant of the model.
func (d *driver) explain(t provider.Time) string {
	step, after, ok := d.place(t)
	if !ok {
		return "?"
	}
	text := "now"
	if ago := len(d.model.marks) - 1 - step; ago > 0 {
		text = fmt.Sprintf("%d steps ago", ago)
	}
	if after != 0 {
		text += "+" + durationName(after)
	}
	return text
}
