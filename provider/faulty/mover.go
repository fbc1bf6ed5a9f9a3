package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

var _ provider.Mover = (*Provider)(nil)

// mover returns the Mover of the decorated provider.
func (p *Provider) mover(op Op) (provider.Mover, error) {
	m, ok := provider.As[provider.Mover](p.inner)
	if !ok {
		return nil, provider.Lacking(string(op), "Mover")
	}
	return m, nil
}

// Seal implements provider.Mover.
func (p *Provider) Seal(ctx context.Context, req provider.SealRequest) (provider.SealResult, error) {
	m, err := p.mover(Seal)
	if err != nil {
		return provider.SealResult{}, err
	}
	return call(ctx, p, Seal, req, m.Seal)
}

// Export implements provider.Mover.
func (p *Provider) Export(ctx context.Context, req provider.ExportRequest) (provider.ExportResult, error) {
	m, err := p.mover(Export)
	if err != nil {
		return provider.ExportResult{}, err
	}
	return call(ctx, p, Export, req, m.Export)
}

// Import implements provider.Mover.
func (p *Provider) Import(ctx context.Context, req provider.ImportRequest) (provider.ImportResult, error) {
	m, err := p.mover(Import)
	if err != nil {
		return provider.ImportResult{}, err
	}
	return call(ctx, p, Import, req, m.Import)
}

// Seals implements provider.Mover.
func (p *Provider) Seals(ctx context.Context, req provider.SealsRequest) (provider.SealsResult, error) {
	m, err := p.mover(Seals)
	if err != nil {
		return provider.SealsResult{}, err
	}
	return call(ctx, p, Seals, req, m.Seals)
}
