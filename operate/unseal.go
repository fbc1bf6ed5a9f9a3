package operate

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Sealed returns all sealed instances, in order of their keys.
func (o *Operator) Sealed(ctx context.Context) ([]client.Sealed, error) {
	const op = "listing sealed instances"
	list, err := o.seals(ctx, op)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Sealed, 0, len(list))
	for _, s := range list {
		shown = append(shown, client.Sealed{
			ID: s.ID, Key: s.Key.String(), Transfer: s.Transfer.String(), State: s.State.String(), Arrived: s.Arrived,
		})
	}
	return shown, nil
}

func (o *Operator) seals(ctx context.Context, op string) (list []provider.Seal, err error) {
	if err := o.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	mover, ok := provider.As[provider.Mover](o.caller.Store.Provider)
	if !ok {
		return nil, fmt.Errorf("%s: %w", op, provider.Lacking("seals", "Mover"))
	}
	req := provider.SealsRequest{}
	for {
		page, err := access.Read(ctx, o.caller.Store, op, mover.Seals, req)
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
func (o *Operator) Unseal(ctx context.Context) (freed int64, err error) {
	const op = "unsealing instances"
	list, err := o.seals(ctx, op)
	if err != nil {
		return 0, err
	}
	mover, _ := provider.As[provider.Mover](o.caller.Store.Provider)
	err = o.caller.Perform(ctx, &access.Act{Kind: string(client.ActImport), Op: op, Other: "instances"}, func(ctx context.Context) error {
		for _, to := range []provider.SealState{provider.SealHeld, provider.SealNone} { // all accept messages before one runs
			for _, s := range list {
				if s.Arrived {
					continue
				}
				req := provider.SealRequest{Key: s.Key, Transfer: s.Transfer, To: to, Commit: provider.UUID(uuid.New()), Back: true}
				_, err := o.caller.Store.Write(ctx, op, func(ctx context.Context) error {
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
