package relational

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// UserTx is a user's transaction, as InTx of a store's package passes it on.
type UserTx[T comparable] struct {
	Tx      T
	Package string  // that InTx belongs to
	From    uintptr // the caller of InTx, if known
}

func (u UserTx[T]) origin() string { return "one of package " + u.Package }

// origin describes where a transaction comes from.
func origin(tx provider.Tx) string {
	if from, ok := tx.Of.(interface{ origin() string }); ok {
		return from.origin()
	}
	return fmt.Sprintf("a %T", tx.Of)
}

// Inside returns calls that join carries out in a user's transaction. They fail if the transaction is of another store's
// kind.
func Inside[T comparable](tx provider.Tx, door *Door, join func(ctx context.Context, own T, m *Member) error) Calls {
	return Calls{Enqueue: func(ctx context.Context, m *Member, _ bool) error {
		own, ok := tx.Of.(UserTx[T])
		if !ok {
			return fmt.Errorf("%s: %w: it is %s", m.Op, provider.ErrForeignTx, origin(tx))
		}
		var none T
		if own.Tx == none {
			return fmt.Errorf("%s: %w: it is nil", m.Op, provider.ErrForeignTx)
		}
		if err := door.Enter(ctx); err != nil {
			return err
		}
		defer door.Leave()
		return join(ctx, own.Tx, m)
	}}
}

// OnComplete registers fn with the running activity of ctx. It fails for transactions of another package's kind.
func OnComplete[T comparable](ctx context.Context, pkg string, fn func(T) error) error {
	if fn == nil {
		return fmt.Errorf("%s.OnComplete: %w: the function is nil: give one", pkg, provider.ErrInvalid)
	}
	err := provider.OnComplete(ctx, func(tx provider.Tx) error {
		own, ok := tx.Of.(UserTx[T])
		if !ok {
			return fmt.Errorf("%s.OnComplete: %w: it is %s", pkg, provider.ErrForeignTx, origin(tx))
		}
		return fn(own.Tx)
	})
	if err != nil {
		return fmt.Errorf("%s.OnComplete: %w", pkg, err)
	}
	return nil
}

// TxOver returns the error for a transaction that its caller has ended, by its methods or by a statement.
func TxOver(err error) error {
	return fmt.Errorf("%w: the transaction has ended: begin another one, and commit it after the call: %w", provider.ErrInvalid, err)
}
