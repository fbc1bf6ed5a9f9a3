package model

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// An asked question is in flight on one side.
type asked struct {
	cancel context.CancelFunc
	done   chan struct{}
	res    provider.AskResult
	err    error
}

// put asks a question without waiting for the answer.
func put(ctx context.Context, p *provider.Full, req provider.AskRequest) *asked {
	ctx, cancel := context.WithTimeout(ctx, watchdog)
	a := &asked{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.res, a.err = p.Ask(ctx, req)
	}()
	return a
}

// doAsk asks a question, fetches it, and answers it or gives up.
func doAsk(d *driver) {
	req := provider.AskRequest{AskID: named('A', d.unique()), Payload: d.payload("question"), Wait: provider.MaxWait}
	if len(d.rows) == 0 || d.odds(12) {
		req.Key = named('K', 9999)
		_, _ = call(d, "ask", (*provider.Full).Ask, always(req), nil)
		return
	}
	row := d.row()
	req.Key = row.Key
	able := provider.Capability{Name: row.Name, CodeVersion: row.CodeVersion}
	if d.odds(3) {
		able = provider.Capability{Name: "guest", CodeVersion: row.CodeVersion}
		req.As = able
	}
	d.linef("ask %s", show(req, d.explain).text.String())
	d.drawHandle()
	want, got := put(d.ctx, d.model.Full, req), put(d.ctx, d.subject.Full, req)
	defer func() {
		want.cancel()
		got.cancel()
		<-want.done
		<-got.done
	}()
	fetch := provider.FetchAsksRequest{
		Capabilities: []provider.Capability{able}, EngineLevel: row.EngineLevel, Max: 10, Lease: d.lease(),
		Wait: watchdog / 2,
	}
	fetchAsks(d, fetch)
	if d.brief && d.differs == "" {
		d.expire()
		d.brief = false
	} else {
		fetch.Wait = 0 // the question is leased
	}
	fetchAsks(d, fetch)
	if d.differs != "" {
		return
	}
	if d.odds(3) {
		d.linef("the caller gives up the question")
		want.cancel()
		got.cancel()
	} else {
		answer(d, req.AskID)
	}
	for _, a := range []*asked{want, got} {
		select {
		case <-a.done:
		case <-time.After(watchdog):
			d.differf("Ask did not return within %v", watchdog)
			return
		}
	}
	d.failed(d.stamp(d.ctx))
	d.same(want.res, want.err, got.res, got.err)
	answer(d, req.AskID)
}

func fetchAsks(d *driver, req provider.FetchAsksRequest) {
	if d.differs == "" {
		_, _ = call(d, "fetch asks", (*provider.Full).FetchAsks, always(req), nil)
	}
}

// answer sends an answer to a question, which may be gone.
func answer(d *driver, id provider.UUID) {
	if d.differs != "" {
		return
	}
	req := provider.AnswerRequest{AskID: id, Payload: d.payload("answer")}
	_, _ = call(d, "answer", func(p *provider.Full, ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, p.Answer(ctx, req)
	}, always(req), nil)
}
