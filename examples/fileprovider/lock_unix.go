//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileprovider

import (
	"fmt"
	"os"
	"syscall"
)

// lock locks the file for this Provider. The lock ends with the process.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has the store open: %w", err)
	}
	return nil
}
