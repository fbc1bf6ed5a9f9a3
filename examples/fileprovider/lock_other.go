//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fileprovider

import (
	"errors"
	"fmt"
	"os"
)

// lock returns an error: without a lock two processes would overwrite each other's data.
func lock(*os.File) error { return fmt.Errorf("lock the store: %w", errors.ErrUnsupported) }
