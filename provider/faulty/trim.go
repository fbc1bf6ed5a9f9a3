package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

var (
	_ provider.Trimmer   = (*Provider)(nil)
	_ provider.Compactor = (*Provider)(nil)
)

// Trim implements provider.Trimmer.
func (p *Provider) Trim(ctx context.Context, req provider.TrimRequest) (provider.TrimResult, error) {
	t, ok := provider.As[provider.Trimmer](p.inner.Provider)
	if !ok {
		return provider.TrimResult{}, provider.Lacking(string(Trim), "Trimmer")
	}
	return call(ctx, p, Trim, req, t.Trim)
}

// Compact implements provider.Compactor.
func (p *Provider) Compact(ctx context.Context, req provider.CompactRequest) (provider.CompactResult, error) {
	c, ok := provider.As[provider.Compactor](p.inner.Provider)
	if !ok {
		return provider.CompactResult{}, provider.Lacking(string(Compact), "Compactor")
	}
	return call(ctx, p, Compact, req, c.Compact)
}
