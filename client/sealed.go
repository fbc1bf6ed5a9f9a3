package client

import (
	"context"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Sealed is an instance that is sealed, because it moves.
type Sealed struct {
	ID       string `json:"id"`
	Key      string `json:"key"`
	Transfer string `json:"transfer"`
	State    string `json:"state"`   // "held", "closed" or "arriving"
	Arrived  bool   `json:"arrived"` // an import has brought it; false: an export has sealed it
}

func sealed(s *provider.Seal) Sealed {
	return Sealed{ID: s.ID, Key: s.Key.String(), Transfer: s.Transfer.String(), State: s.State.String(), Arrived: s.Arrived}
}

// markSealed says of each instance whether it is sealed. Only suspended ones are, so that in most cases nothing is read. To the storage a
// sealed instance may count as one that is being deleted, which it is not.
func (c *Client) markSealed(ctx context.Context, op string, list ...*Description) error {
	suspended := make(map[provider.UUID]*Description)
	for _, d := range list {
		if d.Status == StatusSuspended {
			suspended[d.Key] = d
		}
	}
	mover, ok := provider.As[provider.Mover](c.store.Provider)
	if !ok || len(suspended) == 0 {
		return nil
	}
	ask := func(req provider.SealsRequest) (more bool, err error) {
		page, err := access.Read(ctx, c.store.Store, op, mover.Seals, req)
		if err != nil {
			return false, access.Explain(op, 0, err)
		}
		for i := range page.Seals {
			if d := suspended[page.Seals[i].Key]; d != nil {
				d.Sealed, d.Deleting = new(sealed(&page.Seals[i])), false
			}
		}
		return page.Cursor != "", nil
	}
	if len(suspended) > 1 { // most stores have few seals, and show them all at once
		if more, err := ask(provider.SealsRequest{}); !more {
			return err
		}
	}
	for key := range suspended {
		if _, err := ask(provider.SealsRequest{Key: key, Max: 1}); err != nil {
			return err
		}
	}
	return nil
}

// markListed is markSealed of a list.
func (c *Client) markListed(ctx context.Context, op string, list []Description) error {
	all := make([]*Description, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return c.markSealed(ctx, op, all...)
}
