//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileprovider

import (
	"fmt"
	"os"
	"syscall"
)

// lock makes the file this Provider's alone. The lock falls with the process, however that ends.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has the store open: %w", err)
	}
	return nil
}
