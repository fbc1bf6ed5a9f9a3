package access

import (
	"context"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Nodes reads the records of the nodes, and the time of the store.
func (s *Store) Nodes(ctx context.Context, op string) (nodes []upgrade.Node, now provider.Time, err error) {
	_, err = s.Write(ctx, op, func(ctx context.Context) (err error) {
		nodes, now, err = upgrade.Nodes(ctx, s)
		return err
	})
	if err != nil {
		return nil, 0, Explain(op, 0, err)
	}
	return nodes, now, nil
}
