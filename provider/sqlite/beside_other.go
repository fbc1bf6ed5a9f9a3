//go:build !unix

package sqlite

import "os"

// shareAs does nothing where files inherit their rights from the directory.
func shareAs(*os.File, os.FileInfo) {}
