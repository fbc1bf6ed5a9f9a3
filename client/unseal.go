package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

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

// Sealed returns all sealed instances, in order of their keys.
func (c *Client) Sealed(ctx context.Context) ([]Sealed, error) {
	const op = "listing sealed instances"
	list, err := c.seals(ctx, op)
	if err != nil {
		return nil, err
	}
	shown := make([]Sealed, 0, len(list))
	for _, s := range list {
		shown = append(shown, sealed(&s))
	}
	return shown, nil
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

func (c *Client) seals(ctx context.Context, op string) (list []provider.Seal, err error) {
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	mover, ok := provider.As[provider.Mover](c.store.Provider)
	if !ok {
		return nil, fmt.Errorf("%s: %w", op, provider.Lacking("seals", "Mover"))
	}
	req := provider.SealsRequest{}
	for {
		page, err := access.Read(ctx, c.store.Store, op, mover.Seals, req)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		list = append(list, page.Seals...)
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return list, nil
		}
	}
}

// Unseal lets all instances run here again that exports have sealed, as they were then, and returns how many. It is for an export that was
// given up. If a file of the export was imported elsewhere, the instances then run twice.
func (c *Client) Unseal(ctx context.Context) (freed int64, err error) {
	const op = "unsealing instances"
	list, err := c.seals(ctx, op)
	if err != nil {
		return 0, err
	}
	mover, _ := provider.As[provider.Mover](c.store.Provider)
	err = c.caller.Perform(ctx, &access.Act{Kind: string(ActImport), Op: op, Other: "instances"}, func(ctx context.Context) error {
		for _, to := range []provider.SealState{provider.SealHeld, provider.SealNone} { // all accept messages before one runs
			for _, s := range list {
				if s.Arrived {
					continue
				}
				req := provider.SealRequest{Key: s.Key, Transfer: s.Transfer, To: to, Commit: provider.UUID(uuid.New()), Back: true}
				_, err := c.store.Write(ctx, op, func(ctx context.Context) error {
					_, err := mover.Seal(ctx, req)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s: instance %q: %w", op, s.ID, err)
				}
				if to == provider.SealNone {
					freed++
				}
			}
		}
		return nil
	})
	return freed, err
}
