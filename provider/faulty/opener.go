package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

var _ provider.Opener = (*Provider)(nil)

// Reset implements provider.Opener.
func (p *Provider) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	return call(ctx, p, Reset, req, p.inner.Reset)
}

// Fork implements provider.Opener.
func (p *Provider) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	return call(ctx, p, Fork, req, p.inner.Fork)
}
