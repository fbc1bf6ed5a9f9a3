package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
)

// StartAndUpdate starts an instance and sends an update to it, in one commit. With the policy [UseExisting] the update goes to the
// existing instance, also in one commit. If that has ended, the error is ErrEnded; with [UseRunning], it starts a new one. It does not wait:
// wait for the outcome with the UpdateHandle, and for the instance with the Handle. So it also takes InTx of the store's package; wait after the
// transaction then.
//
// A repeat with the same [WithRequestID] or the same [WithUpdateID] updates the instance once, and its handle waits for the outcome of the
// first, after the end too. Without WithUpdateID the ID of the update follows from WithRequestID; without both it is random. Options are
// those of [Start] and WithUpdateID. Errors are those of Start and of [SendUpdate].
func StartAndUpdate[UpdateOut, In, Out any](
	ctx context.Context, c *Client, fn func(*orchestration.Context, In) (Out, error), in In, update string, updateIn any, opts ...StartOption,
) (Handle[Out], UpdateHandle[UpdateOut], error) {
	var h Handle[Out]
	var u UpdateHandle[UpdateOut]
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return h, u, fmt.Errorf("starting an orchestration: %w: %w", ErrInvalid, err)
	}
	t, sent, err := c.startAndUpdate(ctx, ref, in, update, updateIn, opts)
	if err != nil {
		return h, u, err
	}
	return Handle[Out]{c: c, t: t}, UpdateHandle[UpdateOut]{c: c, t: t, of: sent}, nil
}

func (c *Client) startAndUpdate(
	ctx context.Context, ref bind.Reference, in any, update string, updateIn any, opts []StartOption,
) (t access.Target, u sentUpdate, err error) {
	if err := c.usable(ctx); err != nil {
		return t, u, fmt.Errorf("starting %s: %w", check.Quote(ref.Name), err)
	}
	var o updateOptions
	request := "" // ID, given by the caller
	rest := make([]StartOption, 0, len(opts))
	for _, opt := range opts {
		if id, ok := opt.(UpdateID); ok {
			id.applyUpdate(&o)
			continue
		}
		if h, ok := opt.(headerOption); ok {
			h.applyUpdate(&o) // and of the start, which refuses a bad one
		}
		if f, ok := opt.(raiseFunc); ok {
			var r raiseOptions
			_ = f(&r) // the start refuses a bad one
			request = r.requestID
		}
		rest = append(rest, opt)
	}
	if !o.chosen && request != "" { // as nameEvents does, so that a repeat names the same update
		o.id = uuid.NewSHA1(uuid.NameSpaceOID, []byte("perdure.update:"+request)).String()
	}
	u, body, err := newUpdate(update, updateIn, &o)
	if err == nil {
		err = c.mayUpdate(ctx)
	}
	if err != nil {
		return t, u, fmt.Errorf("starting %s with an update: %w", check.Quote(ref.Name), err)
	}
	stored, end := c.sending(ctx, observe.Sending{Kind: "update", Name: update}, o.header, true) // reads nothing: mayUpdate has read the level
	body.Header = stored
	so := startOptions{version: ref.Version, versioned: true, messages: []history.Body{body}, update: body, updateNamed: o.chosen}
	so.resend = o.chosen && request != ""
	t, err = c.start(ctx, ref.Name, so, in, rest)
	end(err)
	return t, u, err
}
