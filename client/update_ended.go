package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// notTaken says that an instance has ended before it took an update. status is 0 if unknown.
func notTaken(op string, status provider.Status) error {
	how := ""
	if status.Ended() {
		how = " (" + status.String() + ")"
	}
	return fmt.Errorf("%s: %w%s before it took the update, which has not run: start a new one or use another ID", op, ErrEnded, how)
}

// errWithoutOutcome returns the error for an update of an instance that has ended without an outcome for it. s is what the instance shows of the
// update, zero for nothing.
func (c *Client) errWithoutOutcome(ctx context.Context, i *provider.Instance, id, op string, s *history.UpdateState) error {
	if s.Outcome == history.UpdateRunning { // the end asked no code, as that by Terminate
		return fmt.Errorf("%s: %w (%s): its handler may have had effects: look before you repeat it elsewhere", op, ErrAbandoned, i.Status)
	}
	if s.Outcome == 0 {
		if taken, err := c.outcomeRemoved(ctx, i, id, op); err != nil || taken {
			return err
		}
	}
	return notTaken(op, i.Status)
}

// outcomeRemoved returns ErrOutcomeGone if the last execution of an instance has taken an update of which nothing is stored any more. An instance
// keeps the last outcomes only, and a fork has taken what is in its prefix.
func (c *Client) outcomeRemoved(ctx context.Context, i *provider.Instance, id, op string) (taken bool, _ error) {
	hash := history.UpdateHash(id)
	for from := int64(1); from <= i.HistoryLength; {
		res, err := access.Read(ctx, c.store.Store, op, c.store.ReadHistory, provider.ReadHistoryRequest{Key: i.Key, Execution: i.Execution, From: from})
		if err != nil {
			return false, access.Explain(op, 0, err)
		}
		for _, stored := range res.Events {
			event, _, err := history.DecodeShown(stored.ID, stored.Data)
			if err != nil {
				return false, fmt.Errorf("%s: whether it was taken is not known: %w", op, err)
			}
			if hasTaken(event.Body, id, hash[:]) {
				return true, fmt.Errorf("%s: %w", op, ErrOutcomeGone)
			}
			from = stored.ID + 1
		}
		if !res.More || len(res.Events) == 0 {
			break
		}
	}
	return false, nil
}

// hasTaken reports whether an event says that the instance has taken an update, now or in an earlier execution.
func hasTaken(b history.Body, id string, hash []byte) bool {
	var earlier []byte
	switch b := b.(type) {
	case *history.UpdateReceived:
		return b.ID == id
	case *history.ExecutionStarted:
		earlier = b.Updates
	case *history.ForkPoint:
		earlier = b.Updates
	}
	for known := range slices.Chunk(earlier, len(hash)) {
		if bytes.Equal(known, hash) {
			return true
		}
	}
	return false
}

// judgeRefusal judges a send or start that was refused because the instance has ended. It returns nil if the instance shows that it took the update
// of an earlier try before: the wait tells its outcome then. Otherwise the refusal stands, unless that cannot be known.
func (c *Client) judgeRefusal(ctx context.Context, t *access.Target, id, op string, refused error) error {
	ctx, cancel := c.store.Bound(ctx) // the caller may hold a transaction open
	defer cancel()
	res, err := c.store.shown(ctx, op, provider.GetRequest{ID: t.ID, Key: t.Key, Value: history.UpdateKey(id)})
	if err == nil && res.Value == nil {
		if !res.Instance.Status.Ended() {
			err = fmt.Errorf("%s: it was reset meanwhile", op)
		} else if gone, lost := c.outcomeRemoved(ctx, &res.Instance, id, op); gone || lost != nil {
			err = lost
		} else {
			return refused
		}
	}
	switch {
	case err == nil:
		t.Key = res.Instance.Key
		return nil // the wait compares
	case errors.Is(err, ErrOutcomeGone), errors.Is(err, ErrNotFound):
		return err
	}
	again := fmt.Sprintf("the instance has ended, and may have taken the update before: repeat it with client.WithUpdateID(%q)", id)
	return fmt.Errorf("%[2]w; %[1]w: %[3]s", ErrOutcomeUnknown, err, again) // the doubt is the outermost error, see access.Doubt
}
