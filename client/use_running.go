package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// createOrReplace stores a start. With UseRunning it takes the instance under the ID as UseExisting does, and replaces just that one if it has
// ended. Both requests have one request ID, which the store keeps with the messages that it delivers: a repeat finds the instance that has them,
// ended or not, so ErrEnded says that no try before has reached it. It reports whether an earlier call has given the update of the start to the
// instance t, which has ended since.
func (c *Client) createOrReplace(
	ctx context.Context, op string, o *startOptions, req *provider.CreateRequest,
) (stored provider.Instance, t access.Target, taken, doubtful bool, err error) {
	stored, doubtful, err = c.createOnce(ctx, op, o, *req)
	if !o.useRunning || !errors.Is(err, ErrEnded) && (err != nil || !leftOver(&stored, req)) {
		return stored, t, false, doubtful, err
	}
	req.Policy, req.Replaces = provider.IDReplaceEnded, stored.Key
	if err != nil && o.updateNamed { // perhaps another start, whose request ID was another one, has sent it
		t = access.Target{ID: req.ID}
		if judged := c.judgeRefusal(ctx, &t, o.update.ID, op, access.Explain(op, 0, err)); !errors.Is(judged, ErrEnded) {
			return stored, t, judged == nil, false, judged
		}
	}
	if err != nil && o.tx == nil { // in a transaction nothing is read: the caller may hold the only connection
		if req.Replaces, err = c.endedKey(ctx, op, req.ID); err != nil {
			return stored, t, false, false, err
		}
	}
	stored, doubtful, err = c.createOnce(ctx, op, o, *req)
	if _, ok := errors.AsType[*ExistsError](err); ok && !req.Replaces.IsZero() {
		err, doubtful = errReplaced(err), true
	}
	return stored, t, false, doubtful, err
}

// leftOver reports whether a start without events and update has found an instance that has ended and is not of an earlier try.
func leftOver(stored *provider.Instance, req *provider.CreateRequest) bool {
	return len(req.Messages) == 0 && stored.Status.Ended() && stored.Key != req.Key && stored.RequestID != req.RequestID
}

// endedKey returns the key of the ended instance under an ID.
func (c *Client) endedKey(ctx context.Context, op, id string) (provider.UUID, error) {
	res, err := c.store.Instance(ctx, access.Target{ID: id}, op, false)
	if err == nil && !res.Instance.Status.Ended() {
		err = errReplaced(ErrOutcomeUnknown)
	}
	return res.Instance.Key, err
}

func errReplaced(err error) error {
	return fmt.Errorf("somebody else has replaced the ended instance meanwhile: %w", err)
}

// createOnce stores a start, in the transaction of the caller if there is one.
func (c *Client) createOnce(ctx context.Context, op string, o *startOptions, req provider.CreateRequest) (provider.Instance, bool, error) {
	if o.tx != nil {
		stored, err := c.store.createIn(ctx, *o.tx, req)
		return stored, false, err
	}
	return c.create(ctx, op, req)
}
