package memory

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// A seal is the seal of an instance, and what the instance gets back with it.
type seal struct {
	provider.Seal

	ended provider.Time // when the instance ended
	pages int           // that Import has stored
}

// free returns ErrMoved for a sealed instance.
func (i *instance) free() error {
	if i.seal.State != provider.SealNone {
		return fmt.Errorf("instance %q: %w", i.row.ID, provider.ErrMoved)
	}
	return nil
}
