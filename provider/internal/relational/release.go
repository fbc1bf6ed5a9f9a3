package relational

import "github.com/perdure/perdure/provider"

// ReleaseTurns ends turn leases independently of each other.
func (t *Tx) ReleaseTurns(req *provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult) error {
	res.Errs = make([]error, len(req.Items))
	for i := range req.Items {
		item := &req.Items[i]
		var err error
		switch item.Kind {
		case provider.ReleaseToken:
			err = releaseLeased(t, *item)
		case provider.ReleaseUnpin:
			err = unpin(t, item.Key, item.Owner)
		default:
			var held bool
			if held, err = t.ReleaseTurn(item); !held {
				res.Errs[i] = provider.ErrLeaseLost
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// releaseLeased ends the unexpired leases that a token holds.
func releaseLeased(t *Tx, item provider.TurnRelease) error {
	keys, err := t.Rows.TurnsOf(item.Token)
	if err != nil {
		return err
	}
	for _, item.Key = range keys {
		h, err := t.Head(item.Key)
		if err != nil {
			return err
		}
		if h == nil || h.LeaseUntil <= t.Elapsed {
			continue
		}
		if _, err := t.ReleaseTurn(&item); err != nil {
			return err
		}
	}
	return nil
}

// unpin ends the stickiness of an instance to owner.
func unpin(t *Tx, key provider.UUID, owner string) error {
	h, err := t.Head(key)
	if err != nil || h == nil || h.StickyOwner != owner {
		return err
	}
	h.StickyOwner, h.StickyUntil = "", 0
	t.touch(h)
	return nil
}

// ReleaseTurn ends one lease. It returns false if the token does not hold it.
func (t *Tx) ReleaseTurn(item *provider.TurnRelease) (bool, error) {
	h, err := t.Head(item.Key)
	if err != nil {
		return false, err
	}
	if h == nil || h.LeaseToken != item.Token {
		return false, nil
	}
	t.endTurnLease(h)
	h.StickyOwner, h.StickyUntil, h.NotBefore = "", 0, 0
	at := t.Now.Add(item.Delay)
	if item.Kind != provider.ReleaseFailed {
		h.Deliveries = max(h.Deliveries-1, 0)
		if item.Delay > 0 {
			h.NotBefore = at
		}
		return true, nil
	}
	if err := t.Rows.Block(h.Key, item.Failure, t.Now, !h.Blocked); err != nil {
		return false, err
	}
	h.Blocked, h.RetryAt = true, at
	if item.Failure.Hold {
		h.RetryAt = 0
	}
	t.MarkChanged(h.Key)
	return true, nil
}
