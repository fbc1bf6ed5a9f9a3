package query

import (
	"context"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// row reads the row of an instance.
func (qs *Queries) row(ctx context.Context, key provider.UUID) (*provider.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	res, err := qs.Store.Get(ctx, provider.GetRequest{Key: key})
	return &res.Instance, err
}
