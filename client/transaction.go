package client

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// transactor returns the optional feature of the store that works inside transactions of the caller.
func (s *storage) transactor() (provider.Transactor, error) {
	t, ok := provider.As[provider.Transactor](s.Provider)
	if !ok {
		return nil, fmt.Errorf("%w: the store takes part in none", ErrForeignTx)
	}
	return t, nil
}

// createIn stores a start inside a transaction of the caller. It is never repeated: a failure may have
// ended the transaction, and only the caller can begin it again.
func (s *storage) createIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.Instance, error) {
	t, err := s.transactor()
	if err != nil {
		return provider.Instance{}, err
	}
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	res, err := t.CreateIn(ctx, tx, req)
	return res.Instance, err
}

// sendIn puts a message into an inbox inside a transaction of the caller. The same transaction may have started
// the instance.
func (s *storage) sendIn(ctx context.Context, tx provider.Tx, to access.Target, op string, body history.Body) error {
	t, err := s.transactor()
	if err == nil {
		err = to.Check()
	}
	if err != nil {
		return access.Explain(op, 0, err)
	}
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	req := provider.SendRequest{Key: to.Key, Message: engine.Message(body, 0, 0)}
	if to.Key.IsZero() {
		req.ID = to.ID
	}
	_, err = t.SendIn(ctx, tx, req)
	if err != nil {
		return access.Explain(op, 0, err)
	}
	return nil
}
