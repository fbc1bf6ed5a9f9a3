package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

var _ provider.Backuper = (*Provider)(nil)

// Backup implements provider.Backuper, without faults.
func (p *Provider) Backup(ctx context.Context, path string) error {
	b, ok := provider.As[provider.Backuper](p.inner)
	if !ok {
		return provider.Lacking("backup", "Backuper")
	}
	return b.Backup(ctx, path)
}
