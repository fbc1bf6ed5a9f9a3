package model

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// A method is a method of the contract, such as (*provider.Full).Create.
type method[Req, Res any] func(*provider.Full, context.Context, Req) (Res, error)

// call makes the same call on both sides, prints it, and compares the results. req makes the request for a side. tidy removes
// from a result everything that may differ. It returns the model's tidied result.
func call[Req, Res any](d *driver, name string, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res)) (Res, error) {
	at := len(d.lines)
	d.linef("%s %s", name, show(req(d.model), d.explain).text.String())
	res, err := compare(d, fn, req, tidy, func() { d.failed(d.stamp(d.ctx)) })
	if err != nil {
		d.lines[at] += " = " + errorName(err)
	} else {
		d.lines[at] += " = " + show(res, d.explain).text.String()
	}
	if len(d.subject.handles) > 1 {
		d.lines[at] = fmt.Sprintf("handle %d: %s", d.handle+1, d.lines[at])
	}
	return res, err
}

// compare is call without the line. stamp reads the subject's clock after the call.
func compare[Req, Res any](d *driver, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res), stamp func()) (Res, error) {
	want, wantErr := ask(d, d.model, fn, req, tidy)
	if d.differs != "" {
		return want, wantErr
	}
	d.drawHandle()
	got, gotErr := ask(d, d.subject, fn, req, tidy)
	stamp()
	d.same(want, wantErr, got, gotErr)
	return want, wantErr
}

// drawHandle draws the handle of the subject that the next call goes through. A fetch that finds something may not know yet that
// there is more, which another process has stored. A fetch that finds nothing has looked for everything that is stored. So
// one of those goes before each fetch.
func (d *driver) drawHandle() {
	d.handle = 0
	if n := len(d.subject.handles); n > 1 {
		d.handle = d.n(n)
	}
	d.subject.Full = d.subject.handles[d.handle]
	if d.fetching && len(d.subject.handles) > 1 {
		_, err := d.subject.idle(d.ctx, 0)
		d.failed(err)
	}
	d.fetching = false
}

func ask[Req, Res any](d *driver, s *side, fn method[Req, Res], req func(*side) Req, tidy func(*side, *Res)) (Res, error) {
	ctx, cancel := context.WithTimeout(d.ctx, watchdog)
	defer cancel()
	res, err := fn(s.Full, ctx, req(s))
	if err == nil && tidy != nil {
		tidy(s, &res)
	}
	return res, err
}

// same compares two results; the model's comes first.
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

// always makes the same request for both sides.
func always[Req any](req Req) func(*side) Req { return func(*side) Req { return req } }
