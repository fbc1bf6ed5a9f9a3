//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fileprovider

import (
	"errors"
	"fmt"
	"os"
)

// lock is missing here: two processes would write over each other, so none may open the store.
func lock(*os.File) error { return fmt.Errorf("lock the store: %w", errors.ErrUnsupported) }
