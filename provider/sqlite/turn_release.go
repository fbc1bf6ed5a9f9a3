package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
)

const sqlBlock = `UPDATE perdure_instance SET blocked_count = blocked_count + 1, blocked_reason = ?, blocked_message = ?,
	blocked_since = CASE WHEN blocked = 1 THEN blocked_since ELSE ? END WHERE key = ?`

// ReleaseTurns implements [provider.Provider].
func (p *Provider) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ReleaseTurnsResult{}, err
	}
	return write(ctx, p, "release turns", 0, func(t *tx, res *provider.ReleaseTurnsResult) error {
		res.Errs = make([]error, len(req.Items))
		for i := range req.Items {
			held, err := t.releaseTurn(&req.Items[i])
			if err != nil {
				return err
			}
			if !held {
				res.Errs[i] = provider.ErrLeaseLost
			}
		}
		return nil
	})
}

// releaseTurn ends one lease; false if the token does not hold it.
func (t *tx) releaseTurn(item *provider.TurnRelease) (bool, error) {
	h, err := t.head(item.Key)
	if err != nil {
		return false, err
	}
	if h == nil || h.leaseToken != item.Token {
		return false, nil
	}
	t.endLease(h)
	h.stickyOwner, h.stickyUntil = "", 0
	h.notBefore = 0
	at := t.now.Add(item.Delay)
	if item.Failure == nil {
		h.deliveries = max(h.deliveries-1, 0)
		if item.Delay > 0 {
			h.notBefore = at
		}
		return true, nil
	}
	if !h.blocked {
		if _, err := t.exec(sqlUnblock, h.key); err != nil {
			return false, err
		}
	}
	if err := t.store(h); err != nil { // so that the statement sees whether it was blocked
		return false, err
	}
	if _, err := t.exec(sqlBlock, item.Failure.Reason, item.Failure.Message, t.now, h.key); err != nil {
		return false, err
	}
	h.blocked, h.retryAt = true, at
	if item.Failure.Hold {
		h.retryAt = 0
	}
	t.touchWide(h)
	t.news(h)
	return true, nil
}
