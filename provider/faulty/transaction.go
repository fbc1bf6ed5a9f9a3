package faulty

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

var _ provider.Transactor = (*Provider)(nil)

// transactor returns the Transactor of the decorated provider.
func (p *Provider) transactor() (provider.Transactor, error) {
	t, ok := provider.As[provider.Transactor](p.inner)
	if !ok {
		return nil, fmt.Errorf("%w: the decorated store takes part in no transactions", provider.ErrForeignTx)
	}
	return t, nil
}

// CreateIn implements provider.Transactor.
func (p *Provider) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (res provider.CreateResult, err error) {
	t, err := p.transactor()
	if err != nil {
		return res, err
	}
	return call(ctx, p, CreateIn, req, func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
		return t.CreateIn(ctx, tx, req)
	})
}

// SendIn implements provider.Transactor.
func (p *Provider) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (res provider.SendResult, err error) {
	t, err := p.transactor()
	if err != nil {
		return res, err
	}
	return call(ctx, p, SendIn, req, func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
		return t.SendIn(ctx, tx, req)
	})
}

// CompleteIn implements provider.Transactor.
func (p *Provider) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	t, err := p.transactor()
	if err != nil {
		return res, err
	}
	return call(ctx, p, CompleteIn, item, func(ctx context.Context, item provider.TaskReport) (provider.TaskReportResult, error) {
		return t.CompleteIn(ctx, item, fn)
	})
}
