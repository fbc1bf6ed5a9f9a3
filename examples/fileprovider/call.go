package fileprovider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// request is the interface of all requests of the contract, which validate themselves.
type request interface{ Validate() error }

// write makes a call that changes the store.
func write[Req request, Res any](
	ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error),
) (Res, error) {
	return apply(ctx, p, op, req, call, func(Res) bool { return true })
}

// read makes a call that changes nothing.
func read[Req request, Res any](
	ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error),
) (Res, error) {
	return apply(ctx, p, op, req, call, func(Res) bool { return false })
}

// apply makes one call under the lock and appends it to the journal if it changed the store. It returns when
// everything that the call saw or did is on disk. This includes refusals: a crash must not undo what they depend
// on.
func apply[Req request, Res any](
	ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error), changes func(Res) bool,
) (res Res, err error) {
	if err := p.enter(); err != nil {
		return res, err
	}
	defer p.calls.Done()
	if err := req.Validate(); err != nil {
		return res, err
	}
	got, called, err := run(ctx, p, op, req, call, changes)
	if !called {
		return res, err
	}
	if failed := p.journal.wait(ctx, op); failed != nil {
		return res, failed
	}
	return got, err
}

// run makes the call. It reports whether it did: then the result may depend on records that are not yet on disk.
func run[Req request, Res any](
	ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error), changes func(Res) bool,
) (res Res, called bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failed := p.journal.stopped(); failed != nil { // memory may be ahead of the disk, so return nothing more of it
		return res, false, &provider.Error{Op: op, Outcome: provider.OutcomeNothing, Retryable: true, Err: failed}
	}
	// The call is applied from its journal form, so that a replay cannot differ. JSON keeps nil and empty fields apart,
	// which a request may need; gob does not.
	data, err := json.Marshal(req)
	if err != nil {
		return res, false, fmt.Errorf("%s: encode the request: %w", op, err)
	}
	var stored Req
	if err := json.Unmarshal(data, &stored); err != nil {
		return res, false, fmt.Errorf("%s: decode the request: %w", op, err)
	}
	at := p.clock.stop()
	defer p.clock.start()
	res, err = call(ctx, stored)
	if err != nil || !changes(res) {
		return res, true, err
	}
	if err := p.journal.append(at, op, data); err != nil {
		return res, true, err
	}
	p.hub.Changed()
	return res, true, nil
}
